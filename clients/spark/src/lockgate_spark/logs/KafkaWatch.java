// Waits for what comes next in any split, by the broker's own long poll: a query that has read everything need not ask again and again.
// Compiled as KafkaLog is: no lambdas, no type arguments.

import java.time.Duration;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

public class KafkaWatch {
    private final KafkaConsumer consumer;

    public KafkaWatch(Map params) {
        Map changed = new HashMap(params);
        changed.put("max.partition.fetch.bytes", "1024"); // that something came is all that is wanted
        changed.put("auto.offset.reset", "latest"); // a log that was cut off or made anew is for the next plan to find
        changed.put("allow.auto.create.topics", "false"); // to ask for a topic that was deleted must not bring it back
        consumer = new KafkaConsumer(changed);
    }

    /** What is to be waited for, one split a line: topic, tab, partition, tab, the first offset that is news. */
    public void watch(String lines) {
        Map starts = new HashMap();
        String[] splits = lines.isEmpty() ? new String[0] : lines.split("\n");
        for (int i = 0; i < splits.length; i++) {
            String[] fields = splits[i].split("\t");
            starts.put(new TopicPartition(fields[0], Integer.parseInt(fields[1])), Long.valueOf(fields[2]));
        }
        consumer.assign(starts.keySet());
        Iterator each = starts.entrySet().iterator();
        while (each.hasNext()) {
            Map.Entry start = (Map.Entry) each.next();
            consumer.seek((TopicPartition) start.getKey(), ((Long) start.getValue()).longValue());
        }
    }

    /** Whether a record comes within so many ms; none does where there is no split. An interrupt ends it with an exception. */
    public boolean comes(long patienceMs) throws InterruptedException {
        if (consumer.assignment().isEmpty()) {
            Thread.sleep(patienceMs);
            return false;
        }
        return !consumer.poll(Duration.ofMillis(patienceMs)).isEmpty();
    }

    /** The topics that this client may see, one a line. */
    public String topics(long patienceMs) {
        StringBuilder lines = new StringBuilder();
        Iterator names = consumer.listTopics(Duration.ofMillis(patienceMs)).keySet().iterator();
        while (names.hasNext()) {
            lines.append(names.next()).append('\n');
        }
        return lines.toString();
    }

    public void close() {
        consumer.close(Duration.ofSeconds(1L));
    }
}
