// What a plan asks Kafka, for all splits of a source in one call from Python: py4j pays for every value that crosses, so answers
// come packed. Compiled in the driver by the Janino that Spark brings (jvm/compiler.py): no lambdas, no type arguments.
// All arrays hold longs, big endian, in the order of the splits. Event times are in ms: Kafka's record timestamps, or what an expression
// makes of the record (`setEventTime`), of which look-ups know nothing, and `read` alone tells.

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.kafka010.KafkaRecordToRowConverter;
import scala.Function1;
import scala.Option;

public class KafkaLog {
    private static final int WIDTH = 13;
    private static final int PASSED = 2;
    private static final int UNTIL = 5;
    private static final int BELOW = 6;
    private static final int ABOVE = 8;
    private static final int SEEN = 10;
    private static final int HIGHEST = 11;
    private static final long NONE = -1L;
    private static final long GONE_MS = 1000L; // so long without a record, and it is asked whether the splits are still there

    private final Map params;
    private Admin admin;
    private final IsolationLevel isolation;
    private KafkaConsumer consumer;
    private UnsafeProjection expression;
    private Function1 toRow;
    private boolean micros;
    private Option session; // whose settings the expression may ask for, on whatever thread
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

    /** What bears the highest timestamp: (offset, timestamp) a split, (-1, -1) in an empty log; empty where a broker knows no such look-up. */
    public byte[] highest() throws Exception {
        try {
            return listOffsets(OffsetSpec.maxTimestamp(), isolation);
        } catch (ExecutionException refused) {
            if (refused.getCause() instanceof UnsupportedVersionException) return new byte[0];
            throw refused;
        }
    }

    /** Where each log begins: (offset, -1) a split. */
    public byte[] begins() throws Exception {
        return listOffsets(OffsetSpec.earliest(), isolation);
    }

    /** Where each log ends, open transactions included: (offset, -1) a split. */
    public byte[] uncommittedEnds() throws Exception {
        return listOffsets(OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED);
    }

    /** How large each log is: (bytes, -1) a split, (-1, -1) where no broker tells, or may tell us. */
    public byte[] sizes() throws Exception {
        List brokers = new ArrayList();
        Iterator nodes = ((Collection) admin.describeCluster().nodes().get()).iterator();
        while (nodes.hasNext()) brokers.add(Integer.valueOf(((Node) nodes.next()).id()));
        long[] found = new long[2 * splits.length];
        java.util.Arrays.fill(found, -1L);
        try {
            Iterator ofBrokers = ((Map) admin.describeLogDirs(brokers).allDescriptions().get()).values().iterator();
            while (ofBrokers.hasNext()) {
                Iterator folders = ((Map) ofBrokers.next()).values().iterator();
                while (folders.hasNext()) measure(((LogDirDescription) folders.next()).replicaInfos(), found);
            }
        } catch (ExecutionException refused) { /* as far as was told */ }
        return pack(found);
    }

    private void measure(Map replicas, long[] found) {
        for (int i = 0; i < splits.length; i++) {
            ReplicaInfo replica = (ReplicaInfo) replicas.get(splits[i]);
            if (replica != null && !replica.isFuture()) found[2 * i] = Math.max(found[2 * i], replica.size());
        }
    }

    /** What topics, one a line, are configured to, one a line: topic, and the value of each of `keys`, or topic, and why not; tabs between. */
    public String configs(String topics, String keys) throws Exception {
        String[] names = topics.split("\n");
        List wanted = new ArrayList();
        for (int i = 0; i < names.length; i++) wanted.add(new ConfigResource(ConfigResource.Type.TOPIC, names[i]));
        Map found = admin.describeConfigs(wanted).values();
        StringBuilder lines = new StringBuilder();
        for (int i = 0; i < names.length; i++) {
            lines.append(names[i]);
            try {
                append(lines, (Config) ((KafkaFuture) found.get(wanted.get(i))).get(), keys.split(","));
            } catch (ExecutionException error) {
                lines.append('\t').append(String.valueOf(error.getCause()).replaceAll("\\s+", " "));
            }
            lines.append('\n');
        }
        return lines.toString();
    }

    private static void append(StringBuilder line, Config config, String[] keys) {
        for (int i = 0; i < keys.length; i++) {
            ConfigEntry entry = config.get(keys[i]);
            line.append('\t').append(entry == null ? "" : entry.value());
        }
    }

    /**
     * A split that has gone since it was found is answered (-1, -1): what that means is for the next plan. Where nobody answers in time, a new
     * client asks once more, as Spark's own reader of offsets does: a client whose last news of the cluster named no broker asks none again.
     */
    private byte[] listOffsets(OffsetSpec spec, IsolationLevel level) throws Exception {
        try {
            return askOffsets(spec, level);
        } catch (ExecutionException refused) {
            if (!(refused.getCause() instanceof org.apache.kafka.common.errors.TimeoutException)) throw refused;
            admin.close(Duration.ZERO);
            admin = Admin.create(params);
            return askOffsets(spec, level);
        }
    }

    private byte[] askOffsets(OffsetSpec spec, IsolationLevel level) throws Exception {
        Map wanted = new HashMap();
        for (int i = 0; i < splits.length; i++) wanted.put(splits[i], spec);
        ListOffsetsResult result = admin.listOffsets(wanted, new ListOffsetsOptions(level));
        long[] found = new long[2 * splits.length];
        for (int i = 0; i < splits.length; i++) {
            try {
                ListOffsetsResult.ListOffsetsResultInfo told =
                    (ListOffsetsResult.ListOffsetsResultInfo) result.partitionResult(splits[i]).get();
                note(found, 2 * i, told.offset(), told.timestamp());
            } catch (ExecutionException refused) {
                if (!(refused.getCause() instanceof UnknownTopicOrPartitionException)) throw refused;
                note(found, 2 * i, NONE, NONE);
            }
        }
        return pack(found);
    }

    /** What is event time from now on; `micros`: it comes in microseconds. */
    public void setEventTime(UnsafeProjection expression, boolean headers, boolean micros) {
        this.expression = expression;
        this.micros = micros;
        this.toRow = new KafkaRecordToRowConverter().toUnsafeRowProjector(headers);
        this.session = SparkSession.getActiveSession();
    }

    /**
     * Reads the first credible record at or after an offset and below an end. `ranges`: (offset, end) a split, (-1, -1): not asked.
     * Where that record is at or below `target`, the place where the log passes `target` is looked for in what Kafka sent along with it.
     * Returns 13 longs a split: (offset, event time) of that record, (-1, -1) where there is none; how many others were passed over,
     * at most about `mostPassed`; (offset, event time) of the first of those, (-1, -1) without one; the offset below which nothing else
     * is credible; (offset, event time) of the last record that was found at or below `target`, and of the first one above with nothing
     * credible between the two, (-1, -1) where they are not known; the end of what was sent along, markers included; (offset, event time)
     * of the highest record sent along, of the first and the last one where event time is parsed. Throws when the broker is silent for `patienceMs`.
     */
    public byte[] read(byte[] ranges, long target, long mostPassed, long patienceMs) throws Exception {
        begin();
        long[] ends = new long[splits.length];
        Map asked = seek(ByteBuffer.wrap(ranges), ends);
        long[] found = new long[WIDTH * splits.length];
        java.util.Arrays.fill(found, NONE);
        for (int i = 0; i < splits.length; i++) found[WIDTH * i + PASSED] = 0L;
        long deadline = System.currentTimeMillis() + patienceMs;
        long patient = System.currentTimeMillis() + GONE_MS;
        while (!asked.isEmpty()) {
            ConsumerRecords sent = consumer.poll(Duration.ofMillis(100L));
            Iterator partitions = sent.partitions().iterator();
            while (partitions.hasNext()) {
                TopicPartition split = (TopicPartition) partitions.next();
                Integer i = (Integer) asked.get(split);
                if (i == null) continue;
                List records = sent.records(split);
                if (take(split, records, found, WIDTH * i.intValue(), ends[i.intValue()], target, mostPassed)) settle(asked, split);
            }
            if (sent.isEmpty()) ended(asked, ends, found);
            if (sent.isEmpty() && System.currentTimeMillis() > patient) patient = settleGone(asked, found, ends);
            if (System.currentTimeMillis() > deadline) throw new java.util.concurrent.TimeoutException("no answer for " + asked.keySet());
        }
        return pack(found);
    }

    private void begin() {
        if (consumer == null) consumer = new KafkaConsumer(sparing(params, splits.length));
        if (session != null && session.isDefined()) SparkSession.setActiveSession((SparkSession) session.get());
    }

    /** A split that has gone holds nothing any more. Returns when to look again. */
    private long settleGone(Map asked, long[] found, long[] ends) throws Exception {
        ByteBuffer told = ByteBuffer.wrap(uncommittedEnds());
        for (int i = 0; i < splits.length; i++) {
            if (told.getLong(16 * i) >= 0L || !asked.containsKey(splits[i])) continue;
            found[WIDTH * i + UNTIL] = ends[i];
            settle(asked, splits[i]);
        }
        return System.currentTimeMillis() + GONE_MS;
    }

    /** Notes what the records tell; whether the split is settled by it. */
    private boolean take(TopicPartition split, List records, long[] found, int at, long end, long target, long mostPassed) {
        for (int n = 0; n < records.size(); n++) {
            ConsumerRecord record = (ConsumerRecord) records.get(n);
            if (record.offset() >= end) {
                found[at + UNTIL] = end;
                return true;
            }
            long eventTime = eventTimeOf(record);
            if (isCredible(eventTime)) {
                note(found, at, record.offset(), eventTime);
                found[at + UNTIL] = record.offset();
                int behind = records.size();
                while (offset(records, behind - 1) >= end) behind--;
                found[at + SEEN] = behind < records.size() ? end : Math.min(end, consumer.position(split));
                climb(records, n, behind, found, at);
                if (eventTime <= target) cross(records, n, behind, found, at, target);
                return true;
            }
            if (found[at + PASSED]++ == 0L) note(found, at + PASSED + 1, record.offset(), eventTime);
            found[at + UNTIL] = record.offset() + 1L;
            if (found[at + PASSED] >= mostPassed) return true;
        }
        return false;
    }

    /** The highest of the records from `first` up to `behind`. To parse them all would be dear: the last one has to do. */
    private void climb(List records, int first, int behind, long[] found, int at) {
        note(found, at + HIGHEST, found[at], found[at + 1]);
        for (int n = behind - 1; n > first; n--) {
            long eventTime = eventTimeOf((ConsumerRecord) records.get(n));
            if (!isCredible(eventTime)) continue;
            if (eventTime > found[at + HIGHEST + 1]) note(found, at + HIGHEST, offset(records, n), eventTime);
            if (expression != null) return;
        }
    }

    /** Where the records pass `target`, by halving, below the record `high`; the record `low` is credible and does not. */
    private void cross(List records, int low, int high, long[] found, int at, long target) {
        long lowTime = found[at + 1];
        long above = NONE;
        int middle = high - 1; // the last one first: most often all or nothing is below
        while (high - low > 1) {
            int next = middle;
            long eventTime = NONE;
            while (next < high && !isCredible(eventTime = eventTimeOf((ConsumerRecord) records.get(next)))) next++;
            if (next == high) high = middle;
            else if (eventTime > target) {
                high = middle;
                above = eventTime;
            } else {
                low = next;
                lowTime = eventTime;
            }
            middle = low + (high - low) / 2;
        }
        note(found, at + BELOW, offset(records, low), lowTime);
        if (above != NONE) note(found, at + ABOVE, offset(records, high), above);
    }

    /**
     * Looks at some records in a row of a few splits: how far they are out of order. `ranges` as in `read`. Returns four longs a split: by how
     * many ms a credible record lies below one before it, at most; the lowest and the highest event time; the offset behind the last one.
     * All are -1 where nothing came within `patienceMs`, or what came is not credible.
     */
    public byte[] sample(byte[] ranges, long patienceMs) {
        begin();
        long[] found = new long[4 * splits.length];
        java.util.Arrays.fill(found, NONE);
        try {
            long[] ends = new long[splits.length];
            Map asked = seek(ByteBuffer.wrap(ranges), ends);
            long deadline = System.currentTimeMillis() + patienceMs;
            while (!asked.isEmpty() && System.currentTimeMillis() < deadline) {
                ConsumerRecords sent = consumer.poll(Duration.ofMillis(100L));
                if (sent.isEmpty()) ended(asked, ends, null);
                Iterator partitions = sent.partitions().iterator();
                while (partitions.hasNext()) {
                    TopicPartition split = (TopicPartition) partitions.next();
                    Integer i = (Integer) asked.get(split);
                    if (i == null) continue;
                    compare(sent.records(split), ends[i.intValue()], found, 4 * i.intValue());
                    settle(asked, split);
                }
            }
        } catch (KafkaException untold) {
            return pack(found); // what is wrong, a plan will meet, and say
        }
        return pack(found);
    }

    private void compare(List records, long end, long[] found, int at) {
        for (int n = 0; n < records.size() && offset(records, n) < end; n++) {
            long eventTime = eventTimeOf((ConsumerRecord) records.get(n));
            if (!isCredible(eventTime)) continue;
            boolean first = found[at] == NONE;
            found[at] = first ? 0L : Math.max(found[at], found[at + 2] - eventTime);
            found[at + 1] = first ? eventTime : Math.min(found[at + 1], eventTime);
            found[at + 2] = Math.max(found[at + 2], eventTime);
            found[at + 3] = offset(records, n) + 1L;
        }
    }

    private boolean isCredible(long eventTime) {
        return eventTime >= earliest && eventTime <= latest;
    }

    /** -1 where the expression gives null, or fails: the record has no event time. */
    private long eventTimeOf(ConsumerRecord record) {
        if (expression == null) return record.timestamp();
        try {
            UnsafeRow result = expression.apply((InternalRow) toRow.apply(record));
            if (result.isNullAt(0)) return NONE;
            return micros ? Math.floorDiv(result.getLong(0), 1000L) : result.getLong(0);
        } catch (Exception unfit) {
            return NONE;
        }
    }

    private static long offset(List records, int n) {
        return ((ConsumerRecord) records.get(n)).offset();
    }

    private static void note(long[] found, int at, long offset, long eventTime) {
        found[at] = offset;
        found[at + 1] = eventTime;
    }

    /**
     * A few records a split are wanted, not a megabyte of them, and fewer where there are many splits. 32 KiB hold a producer's batch
     * of the usual size; of a larger one Kafka sends one split's a request. A request that is still waiting for new records would keep
     * the next one back, so it may not wait.
     */
    private static Map sparing(Map params, int splits) {
        Map changed = new HashMap(params);
        changed.put("allow.auto.create.topics", "false"); // to ask for a topic that was deleted must not bring it back
        changed.put("max.poll.records", String.valueOf(Math.max(50, Math.min(500, 20000 / Math.max(1, splits)))));
        changed.put("max.partition.fetch.bytes", "32768");
        changed.put("fetch.max.wait.ms", "5");
        return changed;
    }

    private Map seek(ByteBuffer ranges, long[] ends) {
        Map asked = new HashMap();
        for (int i = 0; i < splits.length; i++) {
            ends[i] = ranges.getLong(16 * i + 8);
            if (ranges.getLong(16 * i) >= 0) asked.put(splits[i], new Integer(i));
        }
        consumer.assign(asked.keySet());
        consumer.resume(asked.keySet()); // a split stays paused over an assignment that names it again
        for (int i = 0; i < splits.length; i++)
            if (asked.containsKey(splits[i])) consumer.seek(splits[i], ranges.getLong(16 * i));
        return asked;
    }

    private void settle(Map asked, TopicPartition split) {
        asked.remove(split);
        consumer.pause(Collections.singleton(split));
    }

    /** Settles the splits of which nothing comes: their positions have passed over markers or compacted offsets. */
    private void ended(Map asked, long[] ends, long[] read) {
        Iterator left = new ArrayList(asked.keySet()).iterator();
        while (left.hasNext()) {
            TopicPartition split = (TopicPartition) left.next();
            int i = ((Integer) asked.get(split)).intValue();
            if (consumer.position(split) < ends[i]) continue;
            if (read != null) read[WIDTH * i + UNTIL] = ends[i];
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
