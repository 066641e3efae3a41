package io.lockgate.spark;

import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import scala.runtime.AbstractPartialFunction;

/** Lets the host align each Kafka stream that asks for it, by its options or by its session's conf. */
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
                return node instanceof StreamingRelationV2
                    && ((StreamingRelationV2) node).table().getClass().getSimpleName().equals("KafkaTable");
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
        Object plan = Host.ask(session, "align", relation, options, conf, session);
        return plan == null ? relation : (LogicalPlan) plan;
    }
}
