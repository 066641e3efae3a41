// Follows the columns of a plan's watermarks down to what they are made of. A plan may be hundreds of nodes deep, and each may use a column
// twice: so nothing recurses, and a column of a node is followed once.
// Compiled as KafkaLog is: no lambdas, no type arguments.

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import scala.collection.Iterator;
import scala.collection.Seq;

public class PlanColumns {
    private static final int NONE = -1;
    private final LogicalPlan plan;
    private List rows;
    private Deque open;
    private Map followed;

    public PlanColumns(LogicalPlan plan) {
        this.plan = plan;
    }

    /** The nodes of all `withWatermark`s. */
    public List watermarks() {
        List found = new ArrayList();
        Deque unseen = new ArrayDeque();
        unseen.push(plan);
        while (!unseen.isEmpty()) {
            LogicalPlan node = (LogicalPlan) unseen.pop();
            if (node instanceof EventTimeWatermark) {
                found.add(node);
            }
            List children = list(node.children());
            for (int i = children.size() - 1; i >= 0; i--) {
                unseen.push(children.get(i));
            }
        }
        return found;
    }

    /**
     * What the column of a watermark is, in each branch of a union. A row is an expression and the columns of sources that it uses, or null
     * and the one column that is passed through as it is; a column is a leaf of the plan and a name, or null and SQL where no source is found.
     */
    public List origins(EventTimeWatermark watermark) {
        rows = new ArrayList();
        open = new ArrayDeque();
        followed = new IdentityHashMap();
        follow(watermark.eventTime(), list(watermark.children()), NONE);
        while (!open.isEmpty()) {
            Object[] next = (Object[]) open.pop();
            descend((LogicalPlan) next[0], ((Integer) next[1]).intValue(), ((Integer) next[2]).intValue());
        }
        return rows;
    }

    /** One step further down. `row`: of the expression that uses the column; NONE where it is passed through so far. */
    private void descend(LogicalPlan node, int position, int row) {
        List children = list(node.children());
        if (children.isEmpty()) {
            found(node, ((NamedExpression) node.output().apply(position)).name(), row);
        } else if (node.getClass().getSimpleName().endsWith("Union")) { // its columns bear the ids of its first branch
            for (int i = children.size() - 1; i >= 0; i--) {
                open((LogicalPlan) children.get(i), position, row);
            }
        } else {
            Object expression = given(node).apply(position);
            while (expression instanceof Alias) {
                expression = ((Alias) expression).child();
            }
            if (expression instanceof AttributeReference) {
                follow((NamedExpression) expression, children, row);
            } else {
                made((Expression) expression, children, row);
            }
        }
    }

    private static Seq given(LogicalPlan node) {
        if (node instanceof Project) {
            return ((Project) node).projectList();
        }
        return node instanceof Aggregate ? ((Aggregate) node).aggregateExpressions() : node.output();
    }

    private void made(Expression expression, List children, int row) {
        if (row == NONE) {
            row = rows.size();
            rows.add(new Object[] {expression.sql(), new ArrayList()});
        }
        List references = list(expression.references().toSeq());
        for (int i = references.size() - 1; i >= 0; i--) {
            follow((NamedExpression) references.get(i), children, row);
        }
    }

    private void follow(NamedExpression column, List nodes, int row) {
        for (int i = 0; i < nodes.size(); i++) {
            LogicalPlan node = (LogicalPlan) nodes.get(i);
            Iterator output = node.output().iterator();
            for (int position = 0; output.hasNext(); position++) {
                if (((NamedExpression) output.next()).exprId().equals(column.exprId())) {
                    open(node, position, row);
                    return;
                }
            }
        }
        found(null, ((Expression) column).sql(), row);
    }

    private void open(LogicalPlan node, int position, int row) {
        Set before = (Set) followed.get(node);
        if (before == null) {
            before = new HashSet();
            followed.put(node, before);
        }
        if (before.add(Arrays.asList(new Object[] {Integer.valueOf(position), Integer.valueOf(row)}))) {
            open.push(new Object[] {node, Integer.valueOf(position), Integer.valueOf(row)});
        }
    }

    private void found(LogicalPlan leaf, String name, int row) {
        if (row == NONE) {
            row = rows.size();
            rows.add(new Object[] {null, new ArrayList()});
        }
        ((List) ((Object[]) rows.get(row))[1]).add(new Object[] {leaf, name});
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
