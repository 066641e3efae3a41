// What a plan asks Kafka, for all splits of a source in one call from Python: py4j pays for every value that crosses, so answers
// come packed. Compiled in the driver by the Janino that Spark brings (jvm/compiler.py): no lambdas, no type arguments.
//
// All arrays hold longs, big endian, in the order of the splits. Event times are Kafka's record timestamps in ms.

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;

public class KafkaLog {
    private final Map params;
    private final Admin admin;
    private final IsolationLevel isolation;
    private KafkaConsumer consumer;
    private TopicPartition[] splits = new TopicPartition[0];

    public KafkaLog(Map params) {
        this.params = params;
        this.admin = Admin.create(params);
        boolean committed = "read_committed".equals(String.valueOf(params.get("isolation.level")));
        this.isolation = committed ? IsolationLevel.READ_COMMITTED : IsolationLevel.READ_UNCOMMITTED;
    }

    public boolean readsCommitted() {
        return isolation == IsolationLevel.READ_COMMITTED;
    }

    /** The splits that all calls are about, one a line: topic, tab, partition. */
    public void setSplits(String lines) {
        String[] names = lines.isEmpty() ? new String[0] : lines.split("\n");
        splits = new TopicPartition[names.length];
        for (int i = 0; i < names.length; i++) {
            int tab = names[i].indexOf('\t');
            splits[i] = new TopicPartition(names[i].substring(0, tab), Integer.parseInt(names[i].substring(tab + 1)));
        }
    }

    /** The first record of at least this event time: (offset, event time) a split, (-1, -1) where there is none. */
    public byte[] firstAt(long eventTime) throws Exception {
        return listOffsets(OffsetSpec.forTimestamp(eventTime), isolation);
    }

    /** The record with the highest event time: (offset, event time) a split, (-1, -1) in an empty log. */
    public byte[] highest() throws Exception {
        return listOffsets(OffsetSpec.maxTimestamp(), isolation);
    }

    /** Where each log begins: (offset, -1) a split. */
    public byte[] begins() throws Exception {
        return listOffsets(OffsetSpec.earliest(), isolation);
    }

    /** Where each log ends, open transactions included: (offset, -1) a split. */
    public byte[] uncommittedEnds() throws Exception {
        return listOffsets(OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED);
    }

    private byte[] listOffsets(OffsetSpec spec, IsolationLevel level) throws Exception {
        Map wanted = new HashMap();
        for (int i = 0; i < splits.length; i++) wanted.put(splits[i], spec);
        ListOffsetsResult result = admin.listOffsets(wanted, new ListOffsetsOptions(level));
        ByteBuffer packed = ByteBuffer.allocate(16 * splits.length);
        for (int i = 0; i < splits.length; i++) {
            ListOffsetsResult.ListOffsetsResultInfo found =
                (ListOffsetsResult.ListOffsetsResultInfo) result.partitionResult(splits[i]).get();
            packed.putLong(found.offset());
            packed.putLong(found.timestamp());
        }
        return packed.array();
    }

    /**
     * Reads the first record at or after an offset and below an end. `ranges`: (offset, end) a split, (-1, -1): not asked.
     * Returns (offset, event time) a split, (-1, -1) where the range holds no record. Throws when the broker is silent for `patienceMs`.
     */
    public byte[] read(byte[] ranges, long patienceMs) throws Exception {
        if (consumer == null) consumer = new KafkaConsumer(params);
        long[] ends = new long[splits.length];
        Map asked = seek(ByteBuffer.wrap(ranges), ends);
        long[] found = new long[2 * splits.length];
        java.util.Arrays.fill(found, -1L);
        long deadline = System.currentTimeMillis() + patienceMs;
        while (!asked.isEmpty()) {
            Iterator records = consumer.poll(Duration.ofMillis(100L)).iterator();
            while (records.hasNext()) {
                ConsumerRecord record = (ConsumerRecord) records.next();
                Integer split = (Integer) asked.get(new TopicPartition(record.topic(), record.partition()));
                if (split == null) continue;
                if (record.offset() < ends[split.intValue()]) {
                    found[2 * split.intValue()] = record.offset();
                    found[2 * split.intValue() + 1] = record.timestamp();
                }
                settle(asked, splits[split.intValue()]);
            }
            passOverEnds(asked, ends);
            if (System.currentTimeMillis() > deadline) throw new java.util.concurrent.TimeoutException("no answer for " + asked.keySet());
        }
        return pack(found);
    }

    private Map seek(ByteBuffer ranges, long[] ends) {
        Map asked = new HashMap();
        List starts = new ArrayList();
        for (int i = 0; i < splits.length; i++) {
            long start = ranges.getLong();
            ends[i] = ranges.getLong();
            if (start >= 0) asked.put(splits[i], new Integer(i));
            starts.add(new Long(start));
        }
        consumer.assign(asked.keySet());
        consumer.resume(asked.keySet()); // a split stays paused over an assignment that names it again
        for (int i = 0; i < splits.length; i++)
            if (asked.containsKey(splits[i])) consumer.seek(splits[i], ((Long) starts.get(i)).longValue());
        return asked;
    }

    private void settle(Map asked, TopicPartition split) {
        asked.remove(split);
        consumer.pause(Collections.singleton(split));
    }

    /** Transaction markers and compacted offsets bring no record, but the consumer's position passes over them. */
    private void passOverEnds(Map asked, long[] ends) {
        Iterator left = new ArrayList(asked.keySet()).iterator();
        while (left.hasNext()) {
            TopicPartition split = (TopicPartition) left.next();
            if (consumer.position(split) >= ends[((Integer) asked.get(split)).intValue()]) settle(asked, split);
        }
    }

    private static byte[] pack(long[] values) {
        ByteBuffer packed = ByteBuffer.allocate(8 * values.length);
        for (int i = 0; i < values.length; i++) packed.putLong(values[i]);
        return packed.array();
    }

    public void close() {
        admin.close(Duration.ofSeconds(1L));
        if (consumer != null) consumer.close(Duration.ofSeconds(1L));
    }
}
