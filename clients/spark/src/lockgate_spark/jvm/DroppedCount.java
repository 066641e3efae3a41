// Looks through a batch's physical plan for Spark's own count of late rows. A plan may be hundreds of nodes deep, so nothing recurses.
// Compiled as KafkaLog is: no lambdas, no type arguments.

import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.util.AccumulatorV2;
import scala.Option;
import scala.collection.Iterator;

public class DroppedCount {
    /** Whether an operator of the plan has dropped late rows. It counts them after a first aggregation, so no more than this can be known. */
    public boolean isPositive(SparkPlan plan) {
        Deque unseen = new ArrayDeque();
        unseen.push(plan);
        while (!unseen.isEmpty()) {
            SparkPlan node = (SparkPlan) unseen.pop();
            Option dropped = node.metrics().get("numRowsDroppedByWatermark");
            if (dropped.isDefined() && ((Number) ((AccumulatorV2) dropped.get()).value()).longValue() > 0L) {
                return true;
            }
            if (node instanceof AdaptiveSparkPlanExec) {
                unseen.push(((AdaptiveSparkPlanExec) node).executedPlan());
            } else if (node instanceof QueryStageExec) {
                unseen.push(((QueryStageExec) node).plan());
            }
            Iterator each = node.children().iterator();
            while (each.hasNext()) {
                unseen.push(each.next());
            }
        }
        return false;
    }
}
