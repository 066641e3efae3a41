import org.apache.spark.sql.functions.{expr, window}
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.{DataFrame, SparkSession}

/** The job of `support.stream_jobs` as a program in Scala: `StreamJob KEY=VALUE…`. It prints what `connect_job.py` prints. */
object StreamJob {
  def main(arguments: Array[String]): Unit = {
    val settings = arguments.map(_.split("=", 2)).map(pair => pair(0) -> pair(1)).toMap
    val spark = SparkSession.builder().getOrCreate()
    below("conf.", settings).foreach { case (key, value) => spark.conf.set(key, value) }
    val stream = spark.readStream.format(settings.getOrElse("format", "kafka")).options(below("option.", settings)).load()
    val made = if (settings("windows") == "true") counted(stream, settings) else stream.select("partition", "offset")
    val writer = made.writeStream.queryName(settings("name")).format("json").option("path", settings("out"))
      .option("checkpointLocation", settings("checkpoint"))
    val batches = settings("batches").toInt
    val query = writer.trigger(if (batches > 0) Trigger.ProcessingTime(0) else Trigger.AvailableNow()).start()
    println("started")
    follow(query, batches)
    println("finished")
    spark.stop()
  }

  private def counted(stream: DataFrame, settings: Map[String, String]): DataFrame =
    stream.select(expr(settings("time")).as("at")).withWatermark("at", settings("delay"))
      .groupBy(window(expr("at"), "1 hour")).count().selectExpr("unix_millis(window.start) AS begin", "count")

  private def follow(query: StreamingQuery, batches: Int): Unit = {
    val seen = scala.collection.mutable.Map[Long, Long]()
    def tell(): Unit = query.recentProgress.filterNot(found => seen.contains(found.batchId)).foreach { found =>
      seen(found.batchId) = found.numInputRows
      println(found.json)
    }
    while (!query.awaitTermination(100)) {
      tell()
      if (batches > 0 && seen.values.count(_ > 0) >= batches) query.stop()
    }
    tell()
  }

  private def below(prefix: String, settings: Map[String, String]): Map[String, String] =
    settings.collect { case (key, value) if key.startsWith(prefix) => key.stripPrefix(prefix) -> value }
}
