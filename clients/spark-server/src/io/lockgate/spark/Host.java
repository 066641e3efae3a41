package io.lockgate.spark;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.spark.SparkEnv;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import py4j.Py4JException;

/** The one Python process beside this driver that plans, started when it is first needed, and again after it has died. */
final class Host {
    // Each thread that calls Python has a connection of its own there. Sessions come and go in many threads, so a few threads call for them.
    private static final ExecutorService CALLERS = Executors.newFixedThreadPool(4, work -> {
        Thread thread = new Thread(work, "lockgate-calls");
        thread.setDaemon(true);
        return thread;
    });
    private static final Logger LOG = LoggerFactory.getLogger("lockgate");
    private static final long LONGEST_PAUSE_MS = 30_000;
    private static final int TRIES = 5;
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static volatile HostProcess process;

    private Host() {
    }

    /** What the host answers; may be called in any thread. Where it dies, the next one is asked. Throws its error as one sentence. */
    static Object ask(String method, Object... arguments) {
        Object answer;
        // by which py4j finds classes: those that a client has uploaded are its own session's
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        try {
            answer = CALLERS.submit(() -> {
                Thread.currentThread().setContextClassLoader(loader);
                return answer(method, arguments);
            }).get();
        } catch (ExecutionException thrown) {
            Throwable cause = thrown.getCause();
            throw cause instanceof RuntimeException ? (RuntimeException) cause : new IllegalStateException(cause);
        } catch (InterruptedException thrown) {
            Thread.currentThread().interrupt();
            throw new StandIn.AlignmentError("interrupted while Python looked at the alignment of a stream", thrown);
        }
        if (answer instanceof String) {
            throw new StandIn.AlignmentError((String) answer, null);
        }
        return answer;
    }

    private static Object answer(String method, Object[] arguments) {
        for (int deaths = 1; ; deaths++) {
            HostProcess now = running();
            try {
                return now.answers().apply(method, arguments);
            } catch (Py4JException thrown) {
                if (!now.hasEndedWith(thrown)) {
                    throw thrown;
                }
                if (deaths == TRIES) {
                    throw new StandIn.AlignmentError("the Python process beside the driver has died " + TRIES
                        + " times while it looked at a stream: the driver's log has what it said last", thrown);
                }
                LOG.warn("the Python process beside the driver has died while it looked at a stream: another one is asked");
            }
        }
    }

    /** A host that runs, perhaps started by this call. An interrupt ends the wait. */
    static HostProcess running() {
        try {
            LOCK.lockInterruptibly();
            try {
                if (process == null || !process.isAlive()) {
                    process = HostProcess.start(SparkEnv.get().conf());
                }
                return process;
            } finally {
                LOCK.unlock();
            }
        } catch (InterruptedException thrown) {
            throw HostProcess.stopped(thrown);
        }
    }

    /** The same for a query that runs: once a host has run here, the query waits for one that starts, however often one does not. */
    static HostProcess again(int deaths) {
        for (int failures = deaths; ; failures++) {
            try {
                if (failures > 1) {
                    Thread.sleep(Math.min(LONGEST_PAUSE_MS, 250L << Math.min(failures, 10)));
                }
                return running();
            } catch (StandIn.AlignmentError thrown) {
                if (process == null) {
                    throw thrown;
                }
                LOG.warn("the query holds until there is a Python process beside the driver again: {}", thrown.getMessage());
            } catch (InterruptedException thrown) {
                throw HostProcess.stopped(thrown);
            }
        }
    }
}
