package io.lockgate.spark;

import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import py4j.Py4JException;

/**
 * Kills a host that runs and is silent. Every few seconds it is asked whether it lives, and a thread of its own answers, however long its plans
 * take. One that has answered nothing for a minute is stopped, deadlocked or swapped out. All goes on as after a death.
 */
final class SilentHost {
    private static final Logger LOG = LoggerFactory.getLogger("lockgate");
    private static final long STEP_MS = Long.getLong("lockgate.host.step.ms", 5_000); // shorter in tests
    private static final int STEPS = 12;

    private final Process process;
    private final BiFunction<String, Object[], Object> python;
    private final long stepMs;
    private final int steps;
    private volatile long answered;

    private SilentHost(Process process, BiFunction<String, Object[], Object> python, long stepMs, int steps) {
        this.process = process;
        this.python = python;
        this.stepMs = stepMs;
        this.steps = steps;
    }

    static void watch(Process process, BiFunction<String, Object[], Object> python) {
        watch(process, python, STEP_MS, STEPS);
    }

    /** Kills the process where so many steps have passed without an answer. Ends with the process. */
    static void watch(Process process, BiFunction<String, Object[], Object> python, long stepMs, int steps) {
        SilentHost made = new SilentHost(process, python, stepMs, steps);
        Daemon.started("host-lives", made::ask);
        Daemon.started("host-watch", made::judge);
    }

    private void ask() {
        while (!endsWithin(stepMs)) {
            try {
                python.apply("lives", new Object[0]);
                answered++;
            } catch (Py4JException thrown) {
                LOG.debug("checking whether the Python process beside the driver is alive failed", thrown);
            }
        }
    }

    /** Steps of this thread count, not the clock: a driver that was itself stopped, or asleep, has not waited meanwhile. */
    private void judge() {
        long seen = 0;
        for (int silent = 0; silent < steps; silent++) {
            if (endsWithin(stepMs)) {
                return;
            }
            if (answered != seen) {
                seen = answered;
                silent = -1;
            }
        }
        LOG.error("the Python process beside the driver (process {}) runs, but has not answered for {} s: it is stopped, deadlocked or swapped out. "
            + "Killing it; its queries wait, and continue with another one", process.pid(), steps * stepMs / 1000);
        process.destroyForcibly();
    }

    private boolean endsWithin(long ms) {
        try {
            return process.waitFor(ms, TimeUnit.MILLISECONDS);
        } catch (InterruptedException thrown) {
            throw new IllegalStateException("this thread must not be interrupted", thrown);
        }
    }
}
