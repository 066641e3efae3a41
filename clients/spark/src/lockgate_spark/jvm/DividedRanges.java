// Divides what a batch reads into more tasks where cores would be idle: a partition that lags is read alone until it has caught up.
// Compiled as KafkaLog is: no lambdas, no type arguments.

import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import scala.Option;

public class DividedRanges implements UnaryOperator {
    private final long least;

    /** `least`: offsets of a task, below which another task costs more than it gains. */
    public DividedRanges(Object least) {
        this.least = ((Number) least).longValue();
    }

    /** What Spark has planned, an InputPartition[], in as many tasks as there are cores, or as have `least` offsets each. */
    public Object apply(Object planned) {
        InputPartition[] whole = (InputPartition[]) planned;
        return divided(whole, SparkContext.getOrCreate().defaultParallelism());
    }

    public InputPartition[] divided(InputPartition[] whole, int cores) {
        if (whole.length == 0 || whole.length >= cores) return whole;
        int[] tasks = new int[whole.length];
        long[] sizes = new long[whole.length];
        for (int i = 0; i < whole.length; i++) {
            tasks[i] = 1;
            sizes[i] = range(whole[i]).size();
        }
        for (int made = whole.length; made < cores; made++) {
            int largest = 0;
            for (int i = 1; i < whole.length; i++) {
                if (sizes[i] / tasks[i] > sizes[largest] / tasks[largest]) largest = i;
            }
            if (sizes[largest] / (tasks[largest] + 1) < least) break;
            tasks[largest]++;
        }
        List parts = new ArrayList();
        for (int i = 0; i < whole.length; i++) divide((KafkaBatchInputPartition) whole[i], tasks[i], parts);
        return (InputPartition[]) parts.toArray(new InputPartition[0]);
    }

    private static KafkaOffsetRange range(InputPartition partition) {
        return ((KafkaBatchInputPartition) partition).offsetRange();
    }

    /** No part has a preferred executor: there are more of them than the executor that has the partition's consumer could read at once. */
    private static void divide(KafkaBatchInputPartition whole, int tasks, List parts) {
        if (tasks == 1) {
            parts.add(whole);
            return;
        }
        KafkaOffsetRange range = whole.offsetRange();
        for (int part = 0; part < tasks; part++) {
            long from = range.fromOffset() + range.size() * part / tasks;
            long until = range.fromOffset() + range.size() * (part + 1) / tasks;
            KafkaOffsetRange divided = new KafkaOffsetRange(range.topicPartition(), from, until, Option.empty());
            parts.add(whole.copy(divided, whole.executorKafkaParams(), whole.pollTimeoutMs(), whole.failOnDataLoss(), whole.includeHeaders()));
        }
    }
}
