package io.lockgate.spark;

import java.util.Map;
import java.util.function.BiFunction;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import py4j.Py4JException;

/** One source of a run: Spark's own Kafka stream, with some methods answered by the host. Without a host it has Spark's own metrics, and it can stop. */
final class AlignedStream {
    private static final Logger LOG = LoggerFactory.getLogger("lockgate");
    private static final String ANSWERED = "initialOffset,latestOffset,prepareForTriggerAvailableNow,metrics,stop";

    private final AlignedTable table;
    private final MicroBatchStream spark;
    private final CaseInsensitiveStringMap selected;
    private final String checkpoint;
    private final StreamRun run;
    private final StandIn half;
    private BiFunction<String, Object, Object> python;
    private Long endsFixedAt;

    AlignedStream(AlignedTable table, MicroBatchStream spark, CaseInsensitiveStringMap selected, String checkpoint, StreamRun run) {
        this.table = table;
        this.spark = spark;
        this.selected = selected;
        this.checkpoint = checkpoint;
        this.run = run;
        this.half = AlignedTable.half(spark, this::answer, ANSWERED, "read.streaming.MicroBatchStream",
            "read.streaming.SupportsTriggerAvailableNow", "read.streaming.ReportsSourceMetrics");
    }

    MicroBatchStream spark() {
        return spark;
    }

    String checkpoint() {
        return checkpoint;
    }

    BiFunction<String, Object, Object> python() {
        return python;
    }

    Object proxy() {
        return half.proxy();
    }

    /** Opens it in a host. Returns null, or a sentence that says why it cannot be opened. */
    @SuppressWarnings("unchecked")
    Object open(HostProcess host, Map<String, Object> keptOfRun) {
        python = null;
        Object opened = host.answers().apply("open", new Object[] {half, spark, checkpoint, table, selected, endsFixedAt, keptOfRun});
        if (opened instanceof String) {
            return opened;
        }
        python = (BiFunction<String, Object, Object>) opened;
        return null;
    }

    private Object answer(String method, Object given) {
        if (method.equals("prepareForTriggerAvailableNow")) {
            long now = System.currentTimeMillis();
            Object error = run.ask(this, method, given);
            endsFixedAt = now;
            return error;
        }
        if (method.equals("stop")) {
            return stopped();
        }
        if (method.equals("metrics") && !run.hasHost()) {
            return null; // so it has Spark's own alone
        }
        return run.ask(this, method, given);
    }

    /** The host stops Spark's stream, too. Where it dies meanwhile no other one is waited for. */
    private Object stopped() {
        if (run.hasHost() && python != null) {
            try {
                return python.apply("stop", null);
            } catch (Py4JException thrown) {
                LOG.warn("the Python process beside the driver did not stop {}, so only Spark's source is stopped", checkpoint, thrown);
            }
        }
        spark.stop();
        return null;
    }
}
