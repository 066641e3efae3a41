// Follows Kafka's records through a query's own optimised plan to each operator that drops late rows. The projections, filters and unions on
// the way stay as they are, but each row also carries our own columns, whose names begin with "lockgate_".
// Compiled as KafkaLog is: no lambdas, no type arguments.

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.Seq;

public class LateInputs {
    private static final String OWN = "lockgate_";
    private static final List DROPPING = Arrays.asList(new Object[] {"Aggregate", "Deduplicate", "DeduplicateWithinWatermark"});
    private static final List NAMES = Arrays.asList(new Object[] {"stateStoreSave", "dedupe", "dedupeWithinWatermark"});
    private static final List LEFT_OUT = Arrays.asList(new Object[] {"EventTimeWatermark", "CollectMetrics"});
    private static final List KEEPING = Arrays.asList(new Object[] {
        "Filter", "Join", "Generate", "Repartition", "RepartitionByExpression", "BatchEvalPython", "ArrowEvalPython"});
    private final LogicalPlan plan;
    private Map sources;

    public LateInputs(LogicalPlan plan) {
        this.plan = plan;
    }

    /**
     * Return, for each input of an operator that drops late rows, Spark's name of the operator, and a plan with our columns and the
     * event time `lockgate_by` by which the operator drops rows. `sources` maps each leaf of the query's plan to the plan that is read
     * in its place. Throws UnsupportedOperationException if rows cannot be followed.
     */
    public List of(Map sources) {
        this.sources = sources;
        List found = new ArrayList();
        List nodes = nodes(plan);
        for (int i = 0; i < nodes.size(); i++) {
            LogicalPlan node = (LogicalPlan) nodes.get(i);
            List inputs = isStateful(node) ? list(node.children()) : new ArrayList();
            for (int j = 0; j < inputs.size(); j++) {
                LogicalPlan input = (LogicalPlan) inputs.get(j);
                Attribute by = input.isStreaming() && !isAnyStateful(nodes(input)) ? eventTime(node, input) : null;
                if (by != null) {
                    int at = DROPPING.indexOf(kind(node));
                    found.add(new Object[] {at < 0 ? "symmetricHashJoin" : NAMES.get(at), followed(input, by)});
                }
            }
        }
        return found;
    }

    /** Return whether a filter uses the current time. The plan must not be optimised yet, because the optimiser replaces it. */
    public boolean filtersByNow() {
        List nodes = nodes(plan);
        for (int i = 0; i < nodes.size(); i++) {
            if (nodes.get(i) instanceof Filter && ((Filter) nodes.get(i)).condition().containsPattern(TreePattern.CURRENT_LIKE())) {
                return true;
            }
        }
        return false;
    }

    private static boolean isStateful(LogicalPlan node) {
        if (node.isStreaming() && kind(node).indexOf("WithState") >= 0) {
            throw new UnsupportedOperationException("custom state (" + node.nodeName() + ") drops rows by rules of its own");
        }
        boolean joins = node instanceof Join && ((Join) node).left().isStreaming() && ((Join) node).right().isStreaming();
        return joins || node.isStreaming() && DROPPING.contains(kind(node));
    }

    private static boolean isAnyStateful(List nodes) {
        for (int i = 0; i < nodes.size(); i++) {
            if (isStateful((LogicalPlan) nodes.get(i))) {
                return true;
            }
        }
        return false;
    }

    /** Return the event-time column that reaches the operator; null if none does, because then it drops no row. */
    private static Attribute eventTime(LogicalPlan node, LogicalPlan input) {
        Iterator columns = (node instanceof Aggregate ? ((Aggregate) node).groupingExpressions() : input.output()).iterator();
        while (columns.hasNext()) {
            Object column = columns.next();
            if (column instanceof Attribute && ((Attribute) column).metadata().contains(EventTimeWatermark.delayKey())) {
                return (Attribute) column;
            }
        }
        return null;
    }

    private LogicalPlan followed(LogicalPlan input, Attribute by) {
        LogicalPlan rows = carrying(input);
        List columns = own(rows);
        columns.add(alias(by, OWN + "by", NamedExpression.newExprId()));
        return new Project(seq(columns), rows);
    }

    /** Return a plan with the same rows, which has our columns as well. */
    private LogicalPlan carrying(LogicalPlan node) {
        if (!node.isStreaming() || sources.containsKey(node)) {
            return node.isStreaming() ? inPlaceOf(node, (LogicalPlan) sources.get(node)) : node;
        }
        List children = list(node.children());
        if (children.isEmpty() || !node.deterministic()) {
            throw new UnsupportedOperationException(
                children.isEmpty() ? "a source is not aligned" : "an expression in " + node.nodeName() + " is not deterministic");
        }
        for (int i = 0; i < children.size(); i++) {
            children.set(i, carrying((LogicalPlan) children.get(i)));
        }
        LogicalPlan child = (LogicalPlan) children.get(0);
        if (LEFT_OUT.contains(kind(node))) {
            return child;
        }
        if (node instanceof Project) {
            return new Project(both(((Project) node).projectList(), child), child);
        }
        if (node instanceof Expand) {
            List rows = list(((Expand) node).projections());
            for (int i = 0; i < rows.size(); i++) {
                rows.set(i, both((Seq) rows.get(i), child));
            }
            return new Expand(seq(rows), both(node.output(), child), child);
        }
        if (kind(node).equals("Union")) { // it matches columns by position
            for (int i = 0; i < children.size(); i++) {
                LogicalPlan rows = (LogicalPlan) children.get(i);
                children.set(i, new Project(both(((LogicalPlan) node.children().apply(i)).output(), rows), rows));
            }
        } else if (!KEEPING.contains(kind(node))) {
            throw new UnsupportedOperationException("rows pass through " + node.nodeName());
        }
        return (LogicalPlan) node.withNewChildren(seq(children));
    }

    private static LogicalPlan inPlaceOf(LogicalPlan leaf, LogicalPlan records) {
        List columns = own(records);
        List given = list(records.output());
        for (int i = 0; i < given.size(); i++) {
            Attribute from = (Attribute) given.get(i);
            Iterator each = leaf.output().iterator();
            while (each.hasNext()) {
                Attribute column = (Attribute) each.next();
                if (from.name().equals(column.name())) {
                    columns.add(alias(from, column.name(), column.exprId()));
                }
            }
        }
        return new Project(seq(columns), records);
    }

    private static Alias alias(Attribute of, String name, ExprId id) {
        return new Alias((Expression) of, name, id, seq(new ArrayList()), Option.empty(), seq(new ArrayList()));
    }

    private static List own(LogicalPlan rows) {
        List found = new ArrayList();
        Iterator each = rows.output().iterator();
        while (each.hasNext()) {
            Attribute column = (Attribute) each.next();
            if (column.name().startsWith(OWN)) {
                found.add(column);
            }
        }
        return found;
    }

    /** Return these columns and our columns in `rows`. */
    private static scala.collection.immutable.Seq both(Seq columns, LogicalPlan rows) {
        List found = list(columns);
        found.addAll(own(rows));
        return seq(found);
    }

    private static List nodes(LogicalPlan top) {
        List found = new ArrayList();
        found.add(top);
        for (int i = 0; i < found.size(); i++) {
            found.addAll(list(((LogicalPlan) found.get(i)).children()));
        }
        return found;
    }

    private static String kind(LogicalPlan node) {
        return node.getClass().getSimpleName();
    }

    private static scala.collection.immutable.Seq seq(List items) {
        return PythonUtils.toSeq(items).toList();
    }

    private static List list(Seq items) {
        List found = new ArrayList();
        Iterator each = items.iterator();
        while (each.hasNext()) {
            found.add(each.next());
        }
        return found;
    }
}
