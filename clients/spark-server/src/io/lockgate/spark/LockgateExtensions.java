package io.lockgate.spark;

import java.util.function.Function;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.SparkSessionExtensionsProvider;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * What Spark loads: by the service file in this jar, or by `spark.sql.extensions`. Given both ways, the second does nothing, for
 * an aligned stream is no Kafka table any more.
 */
public final class LockgateExtensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> implements SparkSessionExtensionsProvider {
    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        refuseSpark3(org.apache.spark.package$.MODULE$.SPARK_VERSION());
        extensions.injectHintResolutionRule(rule(AnswerHints::new));
        extensions.injectPostHocResolutionRule(rule(AlignStreams::new));
        return BoxedUnit.UNIT;
    }

    static void refuseSpark3(String version) {
        if (version.startsWith("3.")) {
            throw new UnsupportedOperationException("lockgate-spark-server on Spark " + version + ": the jar needs Spark 4.0 or newer. "
                    + "Take it off spark.jars and call lockgate_spark.align(df) in a classic PySpark session, or upgrade Spark");
        }
    }

    private static AbstractFunction1<SparkSession, Rule<LogicalPlan>> rule(Function<SparkSession, Rule<LogicalPlan>> make) {
        return new AbstractFunction1<>() {
            @Override
            public Rule<LogicalPlan> apply(SparkSession session) {
                return make.apply(session);
            }
        };
    }
}
