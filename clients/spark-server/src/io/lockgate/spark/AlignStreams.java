package io.lockgate.spark;

import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.connector.catalog.Table;
import scala.Option;
import scala.runtime.AbstractPartialFunction;

/** Puts an aligned table into each Kafka stream that asks for it, by its options or by its session's conf. */
final class AlignStreams extends Rule<LogicalPlan> {
    private final SparkSession session;

    AlignStreams(SparkSession session) {
        this.session = session;
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        if (!plan.isStreaming()) {
            return plan;
        }
        return plan.resolveOperatorsUp(new AbstractPartialFunction<LogicalPlan, LogicalPlan>() {
            @Override
            public boolean isDefinedAt(LogicalPlan node) {
                return node instanceof StreamingRelationV2 && isKafka(((StreamingRelationV2) node).table());
            }

            @Override
            public LogicalPlan apply(LogicalPlan node) {
                return aligned((StreamingRelationV2) node);
            }
        });
    }

    private LogicalPlan aligned(StreamingRelationV2 relation) {
        Map<String, String> conf = Settings.of(session);
        Map<String, String> options = Settings.of(relation.extraOptions());
        if (!Settings.mention(options, conf)) {
            return relation;
        }
        AlignedTable table = new AlignedTable(relation.table(), options, conf, session);
        Object plan = Host.ask("align", table, with(relation, table.proxy()));
        return plan == null ? relation : (LogicalPlan) plan;
    }

    private static boolean isKafka(Table table) {
        return table.getClass().getSimpleName().equals("KafkaTable");
    }

    /** Spark's versions have different fields. Without `v1Relation` Spark cannot fall back to Kafka's V1 source, which cannot be aligned. */
    private static LogicalPlan with(StreamingRelationV2 relation, Table table) {
        Object[] fields = new Object[relation.productArity()];
        for (int i = 0; i < fields.length; i++) {
            String name = relation.productElementName(i);
            fields[i] = name.equals("table") ? table : name.equals("v1Relation") ? Option.empty() : relation.productElement(i);
        }
        return (LogicalPlan) relation.makeCopy(fields);
    }
}
