// Looks at the last records of a source: whether an expression gives an event time for any of them, and what a value looks like.
// Asked only where a plan has found no event time at all. Compiled as KafkaLog is: no lambdas, no type arguments.

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.kafka010.KafkaRecordToRowConverter;
import scala.Function1;

public class KafkaSample {
    private final Map params;
    private int looked;
    private int valued;
    private int timed;
    private byte[] value;

    public KafkaSample(Map params) {
        this.params = params;
    }

    /**
     * Looks at the records of `ranges`, one a line: topic, tab, partition, tab, first offset, tab, end; for so long at most.
     * Returns, with tabs between: how many there were, how many of them have a value, of how many the expression gives a time, and a value;
     * the value is empty where there is none, and one question mark where it is no text.
     */
    public String look(String ranges, UnsafeProjection expression, boolean headers, long patienceMs) {
        Function1 toRow = new KafkaRecordToRowConverter().toUnsafeRowProjector(headers);
        Map changed = new HashMap(params);
        changed.put("allow.auto.create.topics", "false");
        changed.put("auto.offset.reset", "latest");
        KafkaConsumer consumer = new KafkaConsumer(changed);
        try {
            Map ends = seek(consumer, ranges.split("\n"));
            long deadline = System.currentTimeMillis() + patienceMs;
            while (!ends.isEmpty() && System.currentTimeMillis() < deadline) {
                ConsumerRecords sent = consumer.poll(Duration.ofMillis(100L));
                Iterator records = sent.iterator();
                while (records.hasNext()) {
                    ConsumerRecord record = (ConsumerRecord) records.next();
                    Long end = (Long) ends.get(new TopicPartition(record.topic(), record.partition()));
                    if (end != null && record.offset() < end.longValue()) take(record, expression, toRow);
                }
                settle(consumer, ends);
            }
        } finally {
            consumer.close(Duration.ofSeconds(1L));
        }
        return looked + "\t" + valued + "\t" + timed + "\t" + text();
    }

    private static Map seek(KafkaConsumer consumer, String[] lines) {
        Map starts = new HashMap();
        Map ends = new HashMap();
        for (int i = 0; i < lines.length; i++) {
            String[] fields = lines[i].split("\t");
            TopicPartition split = new TopicPartition(fields[0], Integer.parseInt(fields[1]));
            starts.put(split, Long.valueOf(fields[2]));
            ends.put(split, Long.valueOf(fields[3]));
        }
        consumer.assign(starts.keySet());
        Iterator each = starts.keySet().iterator();
        while (each.hasNext()) {
            TopicPartition split = (TopicPartition) each.next();
            consumer.seek(split, ((Long) starts.get(split)).longValue());
        }
        return ends;
    }

    private static void settle(KafkaConsumer consumer, Map ends) {
        Iterator each = ends.keySet().iterator();
        while (each.hasNext()) {
            TopicPartition split = (TopicPartition) each.next();
            if (consumer.position(split) >= ((Long) ends.get(split)).longValue()) each.remove();
        }
    }

    private void take(ConsumerRecord record, UnsafeProjection expression, Function1 toRow) {
        looked++;
        if (record.value() != null) {
            valued++;
            value = (byte[]) record.value();
        }
        try {
            if (!expression.apply((InternalRow) toRow.apply(record)).isNullAt(0)) timed++;
        } catch (Exception unfit) { /* it gives no time */ }
    }

    private String text() {
        if (value == null) return "";
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(value)).toString();
        } catch (CharacterCodingException binary) {
            return "?";
        }
    }
}
