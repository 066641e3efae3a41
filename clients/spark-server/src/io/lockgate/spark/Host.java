package io.lockgate.spark;

import java.util.concurrent.locks.ReentrantLock;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import py4j.Py4JException;

/** The one Python process beside this driver that plans, started when it is first needed, again after it has died, and anew for another context. */
final class Host {
    private static final Logger LOG = LoggerFactory.getLogger("lockgate");
    private static final long LONGEST_PAUSE_MS = 30_000;
    private static final int TRIES = 5;
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static volatile HostProcess process;

    private Host() {
    }

    /** What the host answers a session; may be called in any thread. Where it dies, the next one is asked. Throws its error as one sentence. */
    static Object ask(SparkSession session, String method, Object... arguments) {
        Object answer;
        try {
            answer = Callers.call(session, () -> answer(session.sparkContext(), method, arguments));
        } catch (InterruptedException thrown) {
            Thread.currentThread().interrupt();
            throw new StandIn.AlignmentError("interrupted while Python checked the alignment of a stream", thrown);
        }
        if (answer instanceof String) {
            throw new StandIn.AlignmentError((String) answer, null);
        }
        return answer;
    }

    private static Object answer(SparkContext context, String method, Object[] arguments) {
        for (int deaths = 1; ; deaths++) {
            HostProcess now = running(context);
            try {
                return now.answers().apply(method, arguments);
            } catch (Py4JException thrown) {
                if (!now.hasEndedWith(thrown)) {
                    throw thrown;
                }
                if (deaths == TRIES) {
                    throw new StandIn.AlignmentError("the Python process beside the driver has died " + TRIES
                        + " times while it checked a stream; see its last output in the driver's log", thrown);
                }
                LOG.warn("the Python process beside the driver died while it checked a stream; starting another one");
            }
        }
    }

    /** The host of a context, perhaps started by this call. An interrupt ends the wait. */
    private static HostProcess running(SparkContext context) {
        try {
            LOCK.lockInterruptibly();
            try {
                HostProcess before = process;
                if (before == null || !before.isAlive() || !before.isOf(context)) {
                    if (context.isStopped()) {
                        throw new IllegalStateException("the SparkContext of this stream was stopped, and its Python process with it");
                    }
                    process = HostProcess.start(context);
                    if (before != null) {
                        before.leave();
                    }
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
    static HostProcess again(SparkContext context, int deaths) {
        for (int failures = deaths; ; failures++) {
            try {
                if (failures > 1) {
                    Thread.sleep(Math.min(LONGEST_PAUSE_MS, 250L << Math.min(failures, 10)));
                }
                return running(context);
            } catch (StandIn.AlignmentError thrown) {
                if (process == null) {
                    throw thrown;
                }
                LOG.warn("the query waits until a Python process runs beside the driver again: {}", thrown.getMessage());
            } catch (InterruptedException thrown) {
                throw HostProcess.stopped(thrown);
            }
        }
    }
}
