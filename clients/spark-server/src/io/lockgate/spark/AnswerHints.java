package io.lockgate.spark;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedStar;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedHint;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.Option;
import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * `df.hint("lockgate", question, json)`: what a client without a JVM asks of the host, and what it gets in the place of `df`. A hint is
 * all that a client of Connect can say of a DataFrame that this jar hears. Without the jar Spark drops it.
 */
final class AnswerHints extends Rule<LogicalPlan> {
    private static final String NAME = "lockgate";

    private final SparkSession session;

    AnswerHints(SparkSession session) {
        this.session = session;
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        return plan.resolveOperatorsUp(new AbstractPartialFunction<LogicalPlan, LogicalPlan>() {
            @Override
            public boolean isDefinedAt(LogicalPlan node) {
                return node instanceof UnresolvedHint && ((UnresolvedHint) node).name().equalsIgnoreCase(NAME)
                    && ((UnresolvedHint) node).parameters().size() == 2;
            }

            @Override
            public LogicalPlan apply(LogicalPlan node) {
                UnresolvedHint hint = (UnresolvedHint) node;
                String question = text(hint.parameters().apply(0));
                String given = text(hint.parameters().apply(1));
                return whole((LogicalPlan) Host.ask(session, "hint", question, given, hint.child(), Settings.of(session), session));
            }
        });
    }

    /** The plan below a node of its own. Spark gives the node the hint's tags: by one of them it finds the columns of the client's DataFrame. */
    private static LogicalPlan whole(LogicalPlan plan) {
        NamedExpression all = new UnresolvedStar(Option.empty());
        return new Project((Seq<NamedExpression>) List$.MODULE$.<NamedExpression>empty().$colon$colon(all), plan);
    }

    private static String text(Expression parameter) {
        return parameter instanceof Literal ? String.valueOf(((Literal) parameter).value())
            : parameter instanceof UnresolvedAttribute ? ((UnresolvedAttribute) parameter).name() : String.valueOf(parameter);
    }
}
