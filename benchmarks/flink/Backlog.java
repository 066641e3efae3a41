import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.Reader;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.apache.flink.api.common.eventtime.BoundedOutOfOrdernessWatermarks;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * Flink jobs in one JVM, one after the other: each drains a topic into windows, or two into a join.
 *
 * <p>Argument: a folder. N.order there is a file of properties: bootstrap, topics and sizes
 * (one or two; records of each partition), parallelism, window_ms, within_ms (of the join), delay_ms, drift_ms
 * (0: without alignment), interval_ms, watermark_every
 * (records; 0: periodic only), idle_ms (0: never), limit_s, and any "flink.KEY" and "kafka.KEY". The answer is
 * N.json: rows counted by the start of their window, and late rows. N.trace has a sample each 2 ms,
 * of big-endian longs: ms since the epoch, nanoseconds of processor time, the lowest watermark of the windows,
 * and the next offset of each partition.
 */
public class Backlog {
    static final long SAMPLE_NS = 2_000_000, POLL_NS = 20_000_000;
    static final long ENDED = Long.MAX_VALUE - 1;
    static final int KEYS = 16;
    static final OutputTag<Long> LATE = new OutputTag<>("late", Types.LONG);
    static final AtomicLong LATE_ROWS = new AtomicLong();
    static final Map<Long, Long> COUNTED = new ConcurrentHashMap<>();
    static AtomicLongArray positions, watermarks;
    static volatile boolean running;

    public static void main(String[] args) throws Exception {
        for (int number = 0; ; number++) {
            Path order = Path.of(args[0], number + ".order");
            while (!Files.exists(order)) {
                LockSupport.parkNanos(POLL_NS);
            }
            Properties asked = new Properties();
            try (Reader from = Files.newBufferedReader(order)) {
                asked.load(from);
            }
            run(asked, Path.of(args[0], number + ".trace"));
            Path part = Path.of(args[0], number + ".part");
            String counted = new TreeMap<>(COUNTED).toString().replaceAll("(-?\\d+)=", "\"$1\": ");
            Files.writeString(part, "{\"late\": " + LATE_ROWS + ", \"counted\": " + counted + "}");
            Files.move(part, Path.of(args[0], number + ".json"), StandardCopyOption.ATOMIC_MOVE);
        }
    }

    static void run(Properties asked, Path trace) throws Exception {
        String[] topics = asked.getProperty("topics").split(","), sizes = asked.getProperty("sizes").split(";");
        int parallelism = (int) number(asked, "parallelism"), splits = 0;
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(parallelism, Configuration.fromMap(under("flink.", asked)));
        @SuppressWarnings({"unchecked", "rawtypes"})
        KeyedStream<Long, Long>[] streams = new KeyedStream[topics.length];
        for (int n = 0; n < topics.length; n++) {
            long[] ends = Arrays.stream(sizes[n].split(",")).mapToLong(Long::parseLong).toArray();
            KafkaSource<Long> source = source(asked, topics[n], new Seen(splits, topics.length > 1, ends));
            streams[n] = env.fromSource(source, times(asked), topics[n]).keyBy(key -> key < 0 ? ~key : key, Types.LONG);
            splits += ends.length;
        }
        positions = new AtomicLongArray(splits);
        watermarks = new AtomicLongArray(parallelism);
        IntStream.range(0, parallelism).forEach(n -> watermarks.set(n, Long.MIN_VALUE));
        LATE_ROWS.set(0);
        COUNTED.clear();
        SingleOutputStreamOperator<Tuple2<Long, Long>> found =
                topics.length > 1 ? pairs(streams, number(asked, "within_ms"), number(asked, "window_ms"))
                        : windows(streams[0], number(asked, "window_ms"));
        found.transform("counted", Types.LONG, new Counted()).sinkTo(new DiscardingSink<>());
        found.getSideOutput(LATE).map(row -> LATE_ROWS.incrementAndGet()).returns(Types.LONG).sinkTo(new DiscardingSink<>());
        running = true;
        Thread sampler = new Thread(() -> sample(trace));
        sampler.start();
        JobClient job = env.executeAsync();
        long until = System.nanoTime() + 1_000_000_000 * number(asked, "limit_s");
        while (lowest() < ENDED && System.nanoTime() < until) {
            if (job.getJobExecutionResult().isDone()) {
                job.getJobExecutionResult().get();
            }
            LockSupport.parkNanos(POLL_NS);
        }
        running = false;
        sampler.join();
        job.cancel().get();
        env.close();
    }

    /** The lowest watermark behind the windows. */
    static long lowest() {
        return IntStream.range(0, watermarks.length()).mapToLong(watermarks::get).min().getAsLong();
    }

    static KafkaSource<Long> source(Properties asked, String topic, Seen seen) {
        Properties kafka = new Properties();
        kafka.putAll(under("kafka.", asked));
        return KafkaSource.<Long>builder()
                .setBootstrapServers(asked.getProperty("bootstrap"))
                .setTopics(topic)
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setProperties(kafka)
                .setDeserializer(seen)
                .build();
    }

    /** Event time is the record's own timestamp. */
    static WatermarkStrategy<Long> times(Properties asked) {
        Duration delay = Duration.ofMillis(number(asked, "delay_ms"));
        long every = number(asked, "watermark_every");
        WatermarkStrategy<Long> times = WatermarkStrategy.forGenerator(of -> new Delayed(delay, every));
        long drift = number(asked, "drift_ms"), idle = number(asked, "idle_ms");
        times = idle == 0 ? times : times.withIdleness(Duration.ofMillis(idle));
        return drift == 0 ? times : times.withWatermarkAlignment(
                "group", Duration.ofMillis(drift), Duration.ofMillis(number(asked, "interval_ms")));
    }

    static SingleOutputStreamOperator<Tuple2<Long, Long>> windows(KeyedStream<Long, Long> stream, long windowMs) {
        WindowFunction<Long, Tuple2<Long, Long>, Long, TimeWindow> start =
                (key, window, count, out) -> out.collect(Tuple2.of(window.getStart(), count.iterator().next()));
        return stream.window(TumblingEventTimeWindows.of(Duration.ofMillis(windowMs)))
                .sideOutputLateData(LATE)
                .aggregate(new Count(), start, Types.LONG, Types.TUPLE(Types.LONG, Types.LONG));
    }

    static SingleOutputStreamOperator<Tuple2<Long, Long>> pairs(
            KeyedStream<Long, Long>[] streams, long withinMs, long windowMs) {
        return streams[0].intervalJoin(streams[1])
                .between(Duration.ZERO, Duration.ofMillis(withinMs))
                .sideOutputLeftLateData(LATE)
                .sideOutputRightLateData(LATE)
                .process(new Pair(windowMs), Types.TUPLE(Types.LONG, Types.LONG));
    }

    static long number(Properties asked, String key) {
        return Long.parseLong(asked.getProperty(key));
    }

    static Map<String, String> under(String prefix, Properties asked) {
        Map<String, String> found = new TreeMap<>();
        asked.stringPropertyNames().stream()
                .filter(key -> key.startsWith(prefix))
                .forEach(key -> found.put(key.substring(prefix.length()), asked.getProperty(key)));
        return found;
    }

    static void sample(Path trace) {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(trace)))) {
            boolean last;
            do {
                last = !running;
                out.writeLong(System.currentTimeMillis());
                out.writeLong(system.getProcessCpuTime());
                out.writeLong(lowest());
                for (int n = 0; n < positions.length(); n++) {
                    out.writeLong(positions.get(n));
                }
                LockSupport.parkNanos(SAMPLE_NS);
            } while (!last);
        } catch (IOException full) {
            throw new java.io.UncheckedIOException(full);
        }
    }

    /** Notes up to where a partition was read, and gives a key: of the join, or one of a few; ~key at its end. */
    record Seen(int first, boolean join, long[] ends) implements KafkaRecordDeserializationSchema<Long> {
        @Override
        public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<Long> out) {
            positions.lazySet(first + record.partition(), record.offset() + 1);
            long key = join ? ByteBuffer.wrap(record.key()).getLong() : record.offset() % KEYS;
            out.collect(record.offset() + 1 == ends[record.partition()] ? ~key : key);
        }

        @Override
        public TypeInformation<Long> getProducedType() {
            return Types.LONG;
        }
    }

    /**
     * Flink's bounded out-of-orderness. A partition that was read to its end holds nobody, as in a
     * bounded source, which fails if it is told to pause a split that it has just finished.
     */
    static class Delayed extends BoundedOutOfOrdernessWatermarks<Long> {
        final long every;
        long events;
        boolean ended;

        Delayed(Duration delay, long every) {
            super(delay);
            this.every = every;
        }

        @Override
        public void onEvent(Long key, long timestamp, WatermarkOutput output) {
            ended |= key < 0;
            super.onEvent(key, timestamp, output);
            if (every > 0 && ++events % every == 0) {
                onPeriodicEmit(output);
            }
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {
            if (ended) {
                output.emitWatermark(new org.apache.flink.api.common.eventtime.Watermark(ENDED));
            } else {
                super.onPeriodicEmit(output);
            }
        }
    }

    static class Count implements AggregateFunction<Long, Long, Long> {
        @Override
        public Long createAccumulator() {
            return 0L;
        }

        @Override
        public Long add(Long record, Long count) {
            return count + 1;
        }

        @Override
        public Long getResult(Long count) {
            return count;
        }

        @Override
        public Long merge(Long one, Long other) {
            return one + other;
        }
    }

    static class Pair extends ProcessJoinFunction<Long, Long, Tuple2<Long, Long>> {
        final long windowMs;

        Pair(long windowMs) {
            this.windowMs = windowMs;
        }

        @Override
        public void processElement(Long left, Long right, Context of, Collector<Tuple2<Long, Long>> out) {
            out.collect(Tuple2.of(of.getLeftTimestamp() - Math.floorMod(of.getLeftTimestamp(), windowMs), 1L));
        }
    }

    /** Adds results up, and notes the watermark behind them. */
    static class Counted extends AbstractStreamOperator<Long> implements OneInputStreamOperator<Tuple2<Long, Long>, Long> {
        @Override
        public void processElement(StreamRecord<Tuple2<Long, Long>> result) {
            COUNTED.merge(result.getValue().f0, result.getValue().f1, Long::sum);
        }

        @Override
        public void processWatermark(Watermark mark) throws Exception {
            watermarks.set(getRuntimeContext().getTaskInfo().getIndexOfThisSubtask(), mark.getTimestamp());
            super.processWatermark(mark);
        }
    }
}
