package io.lockgate.spark;

import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * `format("lockgate-kafka")`: Spark's Kafka source, aligned, with the options of both. It needs no extension, so a client of Connect may
 * bring the jar, and the connector's, by `addArtifacts`. Spark's provider is loaded when it is first needed: where the connector is missing,
 * other formats still work.
 */
public final class LockgateKafka implements TableProvider, DataSourceRegister {
    private static final String ALIGN = Settings.OPTIONS + "align";
    private static final String KAFKA = "org.apache.spark.sql.kafka010.KafkaSourceProvider";

    private TableProvider kafka;

    @Override
    public String shortName() {
        return "lockgate-kafka";
    }

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return kafka().inferSchema(options);
    }

    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        Table spark = kafka().getTable(schema, partitioning, properties);
        SparkSession session = SparkSession.active();
        Map<String, String> conf = Settings.of(session);
        CaseInsensitiveStringMap given = new CaseInsensitiveStringMap(properties);
        Map<String, String> options = Settings.of(given);
        if (!given.containsKey(ALIGN)) {
            options.put(ALIGN, "true");
        }
        if (!Settings.mention(options, conf)) {
            return spark;
        }
        Object table = Host.ask(session, "table", spark, options, conf, session);
        return table == null ? spark : (Table) table;
    }

    private TableProvider kafka() {
        if (kafka == null) {
            try {
                ClassLoader loader = Thread.currentThread().getContextClassLoader();
                kafka = (TableProvider) Class.forName(KAFKA, true, loader).getConstructor().newInstance();
            } catch (ReflectiveOperationException | LinkageError thrown) {
                throw new StandIn.AlignmentError("format(\"lockgate-kafka\") needs Spark's Kafka connector beside it: add "
                    + "org.apache.spark:spark-sql-kafka-0-10_2.13 of this Spark's version, by --packages or addArtifacts", thrown);
            }
        }
        return kafka;
    }
}
