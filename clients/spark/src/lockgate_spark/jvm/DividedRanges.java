// Divides what a batch reads into tasks that keep all cores busy: a partition that lags is read alone until it has caught up, and ranges are
// uneven.
// Compiled as KafkaLog is: no lambdas, no type arguments.

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.UnaryOperator;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import scala.Option;

public class DividedRanges implements UnaryOperator, Comparator {
    private final long least;

    /** `least`: the smallest share of a core, since a smaller task costs more than it gains. */
    public DividedRanges(Object least) {
        this.least = ((Number) least).longValue();
    }

    /** What Spark has planned, an InputPartition[], in tasks that keep all cores busy for about as long. */
    public Object apply(Object planned) {
        return divided((InputPartition[]) planned, SparkContext.getOrCreate().defaultParallelism());
    }

    /**
     * A core's share is as many offsets as all others have, and at least `least`. The ranges are laid end to end, and one that is larger than
     * a share is cut where a share ends, but for pieces below a quarter of a share. The largest come first: Spark has the ranges in no order,
     * and all cores but one would wait for a large one that began last.
     */
    public InputPartition[] divided(InputPartition[] whole, int cores) {
        long all = 0;
        for (int i = 0; i < whole.length; i++) all += range(whole[i]).size();
        long share = Math.max(least, (all + cores - 1) / cores), room = share;
        List parts = new ArrayList();
        for (int i = 0; i < whole.length; i++) {
            long from = range(whole[i]).fromOffset(), until = range(whole[i]).untilOffset();
            boolean large = until - from > share;
            while (large && until - from > room + share / 4) {
                parts.add(part((KafkaBatchInputPartition) whole[i], from, from + room));
                from += room;
                room = share;
            }
            parts.add(from == range(whole[i]).fromOffset() ? whole[i] : part((KafkaBatchInputPartition) whole[i], from, until));
            room = room - (until - from) > share / 4 ? room - (until - from) : share;
        }
        InputPartition[] sorted = (InputPartition[]) parts.toArray(new InputPartition[0]);
        Arrays.sort(sorted, this);
        return sorted;
    }

    public int compare(Object one, Object other) {
        return Long.compare(range((InputPartition) other).size(), range((InputPartition) one).size());
    }

    private static KafkaOffsetRange range(InputPartition partition) {
        return ((KafkaBatchInputPartition) partition).offsetRange();
    }

    /** A part has no preferred executor: there are more of them than the executor that has the partition's consumer could read at once. */
    private static InputPartition part(KafkaBatchInputPartition whole, long from, long until) {
        KafkaOffsetRange range = new KafkaOffsetRange(whole.offsetRange().topicPartition(), from, until, Option.empty());
        return whole.copy(range, whole.executorKafkaParams(), whole.pollTimeoutMs(), whole.failOnDataLoss(), whole.includeHeaders());
    }
}
