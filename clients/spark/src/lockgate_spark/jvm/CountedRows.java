// Reads what a batch's physical plan has counted (`DataFrame.observe`) where it reads one source. Spark's own answer has one row a name, and
// a source that a query uses twice is counted twice. A plan may be hundreds of nodes deep, so nothing recurses.
// Compiled as KafkaLog is: no lambdas, no type arguments.

import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.apache.spark.sql.execution.CollectMetricsExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec;
import org.apache.spark.util.AccumulatorV2;
import scala.Option;
import scala.collection.Iterator;

public class CountedRows {
    private final SparkPlan plan;

    public CountedRows(SparkPlan plan) {
        this.plan = plan;
    }

    /**
     * For each place that counts under this name and reads the stream of this half (see StandIn): the counts, how many tasks read it, and
     * between which offsets; all but the number are JSON.
     */
    public List of(String name, Object half) {
        List found = new ArrayList();
        Deque unseen = new ArrayDeque();
        unseen.push(plan);
        while (!unseen.isEmpty()) {
            SparkPlan node = (SparkPlan) unseen.pop();
            if (node instanceof CollectMetricsExec && ((CollectMetricsExec) node).name().equals(name)) {
                Object source = node.collectLeaves().head(); // without data there is another leaf, and nothing to count
                if (source instanceof MicroBatchScanExec && reads((MicroBatchScanExec) source, half)) {
                    found.add(counted((CollectMetricsExec) node, (MicroBatchScanExec) source));
                }
            }
            children(node, unseen);
        }
        return found;
    }

    /** Whether an operator has dropped late rows, by Spark's own metric. */
    public boolean anyDropped() {
        Deque unseen = new ArrayDeque();
        unseen.push(plan);
        while (!unseen.isEmpty()) {
            SparkPlan node = (SparkPlan) unseen.pop();
            Option dropped = node.metrics().get("numRowsDroppedByWatermark");
            if (dropped.isDefined() && ((Number) ((AccumulatorV2) dropped.get()).value()).longValue() > 0L) {
                return true;
            }
            children(node, unseen);
        }
        return false;
    }

    private static boolean reads(MicroBatchScanExec scan, Object half) {
        return Proxy.isProxyClass(scan.stream().getClass()) && Proxy.getInvocationHandler(scan.stream()) == half;
    }

    private static Object[] counted(CollectMetricsExec node, MicroBatchScanExec scan) {
        Integer tasks = Integer.valueOf(scan.inputPartitions().size());
        return new Object[] {node.collectedMetrics().json(), tasks, scan.start().json(), scan.end().json()};
    }

    private static void children(SparkPlan node, Deque unseen) {
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
}
