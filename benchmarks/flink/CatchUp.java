import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * Two sources of one job drain a backlog of one day, the second at half the rate of the first.
 *
 * <p>Arguments: drift in ms (0: without alignment), update interval in ms, buffer size (of
 * pipeline.watermark-alignment.buffer-size), records of each source, records a second of the first
 * source. Prints one line of JSON.
 */
public class CatchUp {
    static final long DAY_MS = 86_400_000L;
    /** Event time of each source's last record, ms after the start of the backlog. */
    static final AtomicLongArray AT = new AtomicLongArray(2);
    static final AtomicLong APART = new AtomicLong();
    static final AtomicLong BEYOND = new AtomicLong();

    public static void main(String[] args) throws Exception {
        long drift = Long.parseLong(args[0]), interval = Long.parseLong(args[1]);
        long records = Long.parseLong(args[3]);
        double rate = Double.parseDouble(args[4]);
        Configuration conf = new Configuration();
        conf.set(PipelineOptions.WATERMARK_ALIGNMENT_BUFFER_SIZE, Integer.parseInt(args[2]));
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1, conf);
        for (int source = 0; source < 2; source++) {
            WatermarkStrategy<Long> times =
                    WatermarkStrategy.<Long>forMonotonousTimestamps().withTimestampAssigner((time, before) -> time);
            if (drift > 0) {
                times = times.withWatermarkAlignment("group", Duration.ofMillis(drift), Duration.ofMillis(interval));
            }
            long step = DAY_MS / records;
            DataGeneratorSource<Long> generated = new DataGeneratorSource<>(
                    index -> index * step, records, RateLimiterStrategy.perSecond(rate / (source + 1)), Types.LONG);
            env.fromSource(generated, times, "source-" + source)
                    .map(new Seen(source, drift))
                    .sinkTo(new DiscardingSink<>());
        }
        long began = System.nanoTime();
        env.execute();
        System.out.printf(
                "{\"seconds\": %.1f, \"apart_ms\": %d, \"beyond\": %.4f}%n",
                (System.nanoTime() - began) / 1e9, APART.get(), BEYOND.get() / (2.0 * records));
    }

    /** Notes how far its source is ahead of the other one, for each record. */
    static class Seen implements MapFunction<Long, Long> {
        final int source;
        final long drift;

        Seen(int source, long drift) {
            this.source = source;
            this.drift = drift;
        }

        @Override
        public Long map(Long time) {
            AT.set(source, time);
            long apart = time - AT.get(1 - source);
            if (apart > APART.get()) {
                APART.accumulateAndGet(apart, Math::max);
            }
            if (drift > 0 && apart > drift) {
                BEYOND.incrementAndGet();
            }
            return time;
        }
    }
}
