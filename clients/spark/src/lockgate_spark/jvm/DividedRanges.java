// Divides what a batch reads into tasks that keep all cores busy: a partition that lags is read alone until it has caught up, and ranges are
// uneven. No task waits for records that its range does not have.
// Compiled as KafkaLog is: no lambdas, no type arguments.

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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
     * A core's share is as many offsets as all others have, and at least `least`. The ranges are laid end to end, the smallest first, and cut
     * where a share ends, but for pieces below a sixteenth of a share. Nothing is cut if whole ranges keep the cores busy for at most a quarter
     * longer, since each task takes time to start. The largest come first: Spark has the ranges in no order, and all cores but one would wait
     * for a large one that began last.
     */
    public InputPartition[] divided(InputPartition[] whole, int cores) {
        List parts = new ArrayList();
        long all = 0;
        for (int i = 0; i < whole.length; i++) {
            parts.add(part(whole[i], range(whole[i])));
            all += range(whole[i]).size();
        }
        InputPartition[] ranges = sorted(parts);
        long share = Math.max(least, (all + cores - 1) / cores), small = share / 16, room = share;
        if (longest(ranges, cores) <= share + share / 4) return ranges;
        parts.clear();
        for (int i = ranges.length - 1; i >= 0; i--) {
            KafkaOffsetRange range = range(ranges[i]);
            long from = range.fromOffset(), until = range.untilOffset();
            while (until - from > room + small) {
                parts.add(part(ranges[i], new KafkaOffsetRange(range.topicPartition(), from, from + room, Option.empty())));
                from += room;
                room = share;
            }
            // The executor that has the partition's consumer could not read all parts at once, so that no part prefers it.
            if (from > range.fromOffset()) range = new KafkaOffsetRange(range.topicPartition(), from, until, Option.empty());
            parts.add(part(ranges[i], range));
            room -= until - from;
            if (room <= small) room = share;
        }
        return sorted(parts);
    }

    /** How many offsets the busiest core has if each free core takes the next range. */
    private static long longest(InputPartition[] ranges, int cores) {
        long[] busy = new long[cores];
        for (int i = 0; i < ranges.length; i++) {
            busy[0] += range(ranges[i]).size();
            Arrays.sort(busy);
        }
        return busy[cores - 1];
    }

    public int compare(Object one, Object other) {
        return Long.compare(range((InputPartition) other).size(), range((InputPartition) one).size());
    }

    private static KafkaOffsetRange range(InputPartition partition) {
        return ((KafkaBatchInputPartition) partition).offsetRange();
    }

    private InputPartition[] sorted(List parts) {
        InputPartition[] ranges = (InputPartition[]) parts.toArray(new InputPartition[0]);
        Arrays.sort(ranges, this);
        return ranges;
    }

    /**
     * Kafka's client asks for more records than a task takes. Behind the end of a log the broker keeps that request, by default for 500 ms, and
     * Spark's next request waits for it. All records of a range are there, so that a short wait misses none. Readers with one group id need
     * equal settings, so that a job's own id, which others may have, changes nothing.
     */
    private static InputPartition part(InputPartition planned, KafkaOffsetRange range) {
        KafkaBatchInputPartition whole = (KafkaBatchInputPartition) planned;
        Map params = new HashMap(whole.executorKafkaParams());
        if (String.valueOf(params.get("group.id")).endsWith("-executor")) params.putIfAbsent("fetch.max.wait.ms", "10");
        return whole.copy(range, params, whole.pollTimeoutMs(), whole.failOnDataLoss(), whole.includeHeaders());
    }
}
