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
    private static final int WIDTH = 6;
    private static final int PASSED = 2;
    private static final int UNTIL = 5;

    private final Map params;
    private final Admin admin;
    private final IsolationLevel isolation;
    private KafkaConsumer consumer;
    private long earliest = Long.MIN_VALUE;
    private long latest = Long.MAX_VALUE;
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

    /** Which event times are credible; `read` passes over the others. */
    public void setCredible(long earliest, long latest) {
        this.earliest = earliest;
        this.latest = latest;
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
     * Reads the first credible record at or after an offset and below an end. `ranges`: (offset, end) a split, (-1, -1): not asked.
     * Returns six longs a split: (offset, event time) of that record, (-1, -1) where there is none; how many others were passed over, at
     * most about `mostPassed`; (offset, event time) of the first of those, (-1, -1) without one; and the offset below which nothing else
     * is credible. Throws when the broker is silent for `patienceMs`.
     */
    public byte[] read(byte[] ranges, long mostPassed, long patienceMs) throws Exception {
        if (consumer == null) consumer = new KafkaConsumer(sparing(params));
        long[] ends = new long[splits.length];
        Map asked = seek(ByteBuffer.wrap(ranges), ends);
        long[] found = new long[WIDTH * splits.length];
        java.util.Arrays.fill(found, -1L);
        for (int i = 0; i < splits.length; i++) found[WIDTH * i + PASSED] = 0L;
        long deadline = System.currentTimeMillis() + patienceMs;
        while (!asked.isEmpty()) {
            Iterator records = consumer.poll(Duration.ofMillis(100L)).iterator();
            while (records.hasNext()) {
                ConsumerRecord record = (ConsumerRecord) records.next();
                TopicPartition split = new TopicPartition(record.topic(), record.partition());
                Integer i = (Integer) asked.get(split);
                if (i != null && take(record, found, WIDTH * i.intValue(), ends[i.intValue()], mostPassed)) settle(asked, split);
            }
            passOverEnds(asked, ends, found);
            if (System.currentTimeMillis() > deadline) throw new java.util.concurrent.TimeoutException("no answer for " + asked.keySet());
        }
        return pack(found);
    }

    /** Notes the record; whether the split is settled by it. */
    private boolean take(ConsumerRecord record, long[] found, int at, long end, long mostPassed) {
        if (record.offset() >= end) {
            found[at + UNTIL] = end;
            return true;
        }
        if (record.timestamp() >= earliest && record.timestamp() <= latest) {
            found[at] = record.offset();
            found[at + 1] = record.timestamp();
            found[at + UNTIL] = record.offset();
            return true;
        }
        if (found[at + PASSED]++ == 0L) {
            found[at + PASSED + 1] = record.offset();
            found[at + PASSED + 2] = record.timestamp();
        }
        found[at + UNTIL] = record.offset() + 1L;
        return found[at + PASSED] >= mostPassed;
    }

    /** One record a split is wanted, not a megabyte of them. */
    private static Map sparing(Map params) {
        Map changed = new HashMap(params);
        changed.put("max.poll.records", "500");
        changed.put("max.partition.fetch.bytes", "131072");
        return changed;
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
    private void passOverEnds(Map asked, long[] ends, long[] found) {
        Iterator left = new ArrayList(asked.keySet()).iterator();
        while (left.hasNext()) {
            TopicPartition split = (TopicPartition) left.next();
            int i = ((Integer) asked.get(split)).intValue();
            if (consumer.position(split) < ends[i]) continue;
            found[WIDTH * i + UNTIL] = ends[i];
            settle(asked, split);
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
