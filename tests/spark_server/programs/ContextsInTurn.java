package io.lockgate.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryException;

/** A driver that stops its context, with a query in it, and makes another one: FOLDER BOOTSTRAP TOPIC, then a Python for each context. */
public final class ContextsInTurn {
    public static void main(String[] args) throws Exception {
        Set<ProcessHandle> hosts = new HashSet<>();
        List<StreamingQuery> queries = new ArrayList<>();
        for (String python : Arrays.copyOfRange(args, 3, args.length)) {
            SparkSession spark = SparkSession.builder().config("spark.lockgate.python", python).getOrCreate();
            Dataset<Row> rows = spark.readStream().format("kafka").option("kafka.bootstrap.servers", args[1]).option("subscribe", args[2])
                .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", "300").option("lockgate.align", "true")
                .option("lockgate.maxDrift", "10 minutes").option("lockgate.eventTime", "timestamp + INTERVAL 0 SECONDS").load();
            StreamingQuery query = rows.selectExpr("partition", "offset").writeStream().format("memory").queryName("rows")
                .option("checkpointLocation", args[0] + "/" + python.hashCode()).start();
            query.processAllAvailable();
            boolean aligned = query.lastProgress().sources()[0].metrics().containsKey("alignmentTarget");
            long found = spark.table("rows").distinct().count();
            System.out.println("context " + found + " " + aligned);
            hosts().forEach(hosts::add);
            queries.add(query);
            spark.stop();
        }
        for (ProcessHandle host : hosts) {
            host.onExit().get(2, TimeUnit.MINUTES);
        }
        for (StreamingQuery query : queries) {
            try {
                query.awaitTermination();
                System.out.println("query ended");
            } catch (StreamingQueryException thrown) {
                System.out.println("query " + thrown.getCause().getMessage());
            }
        }
    }

    private static Stream<ProcessHandle> hosts() {
        return ProcessHandle.current().children().filter(each -> each.info().commandLine().orElse("").contains("lockgate_spark.host"));
    }
}
