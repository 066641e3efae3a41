package io.lockgate.spark;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.BiFunction;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Spark's Kafka table, whose streams are planned by the host. It keeps what a new host needs to know. Table, scan builder and scan
 * stand in for Spark's own, and answer one method each.
 */
public final class AlignedTable {
    private static final String CONNECTOR = "org.apache.spark.sql.connector.";
    private static final String CONTINUOUS = "UnsupportedQuery: Trigger.Continuous reads without batches, so there is nothing "
        + "to plan. Use another trigger";

    private static final Map<Object, AlignedTable> BY_PROXY = Collections.synchronizedMap(new WeakHashMap<>());

    private final Table spark;
    private final Map<String, String> options;
    private final Map<String, String> conf;
    private final SparkSession session;

    AlignedTable(Table spark, Map<String, String> options, Map<String, String> conf, SparkSession session) {
        this.spark = spark;
        this.options = options;
        this.conf = conf;
        this.session = session;
    }

    public Table spark() {
        return spark;
    }

    public Map<String, String> options() {
        return options;
    }

    public Map<String, String> conf() {
        return conf;
    }

    public SparkSession session() {
        return session;
    }

    /** What Spark reads. */
    public Table proxy() {
        Table proxy = (Table) standIn(spark, (method, options) -> builder((CaseInsensitiveStringMap) options), "newScanBuilder",
            "catalog.Table", "catalog.SupportsRead");
        BY_PROXY.put(proxy, this);
        return proxy;
    }

    /** The aligned table that Spark reads by this proxy; null for any other table. */
    public static AlignedTable of(Object proxy) {
        return BY_PROXY.get(proxy);
    }

    private Object builder(CaseInsensitiveStringMap selected) {
        ScanBuilder builder = ((SupportsRead) spark).newScanBuilder(selected);
        return standIn(builder, (method, none) -> scan(builder.build(), selected), "build", "read.ScanBuilder");
    }

    private Object scan(Scan scan, CaseInsensitiveStringMap selected) {
        return standIn(scan, (method, checkpoint) -> method.equals("toContinuousStream") ? CONTINUOUS
            : StreamRun.ofThisThread(session.sparkContext()).open(this, scan, selected, (String) checkpoint), "toMicroBatchStream,toContinuousStream", "read.Scan");
    }

    static Object standIn(Object spark, BiFunction<String, Object, Object> answers, String methods, String... interfaces) {
        return half(spark, answers, methods, interfaces).proxy();
    }

    static StandIn half(Object spark, BiFunction<String, Object, Object> answers, String methods, String... interfaces) {
        try {
            return new StandIn(spark, answers, methods, CONNECTOR + String.join("," + CONNECTOR, interfaces), null);
        } catch (RuntimeException thrown) {
            throw thrown;
        } catch (Exception thrown) {
            throw new IllegalStateException(thrown);
        }
    }
}
