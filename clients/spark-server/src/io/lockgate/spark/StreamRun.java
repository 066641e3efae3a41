package io.lockgate.spark;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import py4j.Py4JException;

/**
 * One run of one query, with its aligned streams, whatever host plans for it. Spark runs each in a thread of its own. When its host
 * dies, the call that is under way waits for the next host, opens all streams there, and is made again.
 */
final class StreamRun {
    private static final Logger LOG = LoggerFactory.getLogger("lockgate");
    private static final Map<Thread, StreamRun> RUNS = Collections.synchronizedMap(new WeakHashMap<>());

    private final List<AlignedStream> streams = new ArrayList<>();
    private final Map<String, Object> kept = new ConcurrentHashMap<>();
    private final SparkContext context;
    private volatile HostProcess host;

    private StreamRun(SparkContext context) {
        this.context = context;
    }

    static StreamRun ofThisThread(SparkContext context) {
        return RUNS.computeIfAbsent(Thread.currentThread(), thread -> new StreamRun(context));
    }

    /** Returns when no run of a host is under way any more, or so many ms later. */
    static void awaitEnds(HostProcess host, long ms) throws InterruptedException {
        Map<Thread, StreamRun> runs;
        synchronized (RUNS) {
            runs = new HashMap<>(RUNS);
        }
        long until = System.currentTimeMillis() + ms;
        for (Map.Entry<Thread, StreamRun> each : runs.entrySet()) {
            if (each.getValue().host == host) {
                each.getKey().join(Math.max(1, until - System.currentTimeMillis()));
            }
        }
    }

    /** What Spark gets as its stream, or a sentence that says why it gets none. */
    Object open(AlignedTable table, Scan scan, CaseInsensitiveStringMap selected, String checkpoint) {
        AlignedStream stream = new AlignedStream(table, scan.toMicroBatchStream(checkpoint), selected, checkpoint, this);
        streams.add(stream);
        Object error = ask(stream, null, null);
        if (error instanceof String) {
            streams.remove(stream);
            stream.spark().stop();
            return error;
        }
        return stream.proxy();
    }

    /** The host's answer; `method` null: none is asked for but that the stream is open. */
    Object ask(AlignedStream stream, String method, Object given) {
        for (int deaths = 0; ; deaths++) {
            HostProcess now = hasHost() ? host : Host.again(context, deaths);
            try {
                Object error = opened(now);
                return error != null || method == null ? error : stream.python().apply(method, given);
            } catch (Py4JException thrown) {
                if (!now.hasEndedWith(thrown)) {
                    throw thrown;
                }
                LOG.warn("the Python process beside the driver died while it planned for {}; the query waits until another one runs", stream.checkpoint());
            }
        }
    }

    /** Whether the host that has opened the streams still runs. */
    boolean hasHost() {
        return host != null && host.isAlive();
    }

    private Object opened(HostProcess now) {
        boolean anew = now != host;
        host = now;
        for (AlignedStream each : streams) {
            if (anew || each.python() == null) {
                Object error = each.open(now, kept);
                if (error != null) {
                    host = null;
                    return error;
                }
            }
        }
        return null;
    }
}
