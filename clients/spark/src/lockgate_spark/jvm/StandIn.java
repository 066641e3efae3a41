// Stands in for an object of Spark. Python answers some of its methods, and Spark's object all others.
// A py4j proxy alone would do the same, but for errors: py4j throws them with the whole traceback of Python as their message, and logs it.
// So Python never raises here. It returns its error as a sentence, and this class throws the sentence.
// Compiled as KafkaLog is: no lambdas, no type arguments.

import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;

public class StandIn implements InvocationHandler {
    private final Object spark;
    private final BiFunction python;
    private final List answered;
    private final Class[] interfaces;
    private final UnaryOperator tasks;
    private Throwable cause;

    /**
     * `python` is a function of (method, argument), which answers the methods `answers`; names have commas between. `tasks` changes the tasks
     * that Spark has planned for a batch; it may be null.
     */
    public StandIn(Object spark, BiFunction python, String answers, String shown, UnaryOperator tasks) throws Exception {
        this.spark = spark;
        this.python = python;
        this.tasks = tasks;
        answered = Arrays.asList(answers.split(","));
        String[] names = shown.split(",");
        interfaces = new Class[names.length];
        for (int i = 0; i < names.length; i++) {
            interfaces[i] = Class.forName(names[i], true, spark.getClass().getClassLoader());
        }
    }

    public Object proxy() {
        return Proxy.newProxyInstance(spark.getClass().getClassLoader(), interfaces, this);
    }

    /** The cause of the error that Python is about to return. */
    public void because(Throwable thrown) {
        cause = thrown;
    }

    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        String name = method.getName();
        if (method.getDeclaringClass() == Object.class) {
            return ofObject(proxy, name, arguments);
        }
        if (answered.contains(name)) {
            Object answer = answer(name, given(arguments));
            return name.equals("metrics") ? metrics((Optional) arguments[0], (byte[]) answer) : answer;
        }
        try {
            Object answer = method.invoke(spark, arguments);
            return tasks != null && name.equals("planInputPartitions") ? tasks.apply(answer) : answer;
        } catch (InvocationTargetException thrown) {
            throw unchecked(thrown.getCause());
        }
    }

    private Object ofObject(Object proxy, String name, Object[] arguments) {
        if (name.equals("equals")) {
            return Boolean.valueOf(proxy == arguments[0]);
        }
        return name.equals("hashCode") ? (Object) Integer.valueOf(System.identityHashCode(proxy)) : "aligned " + spark;
    }

    /** What Python gets of the arguments: the first one, and of an offset its JSON, as each look at an object would be another call. */
    private static Object given(Object[] arguments) {
        if (arguments == null || arguments[0] instanceof Optional) {
            return null;
        }
        return arguments[0] instanceof Offset ? ((Offset) arguments[0]).json() : arguments[0];
    }

    /** The metrics of Spark's own source, and the others: names and values, with zeros between them. */
    private Map metrics(Optional consumed, byte[] others) {
        Map all = new HashMap();
        try {
            all.putAll(((ReportsSourceMetrics) spark).metrics(consumed));
        } catch (RuntimeException early) { /* Spark 4.1 has none before the first latestOffset, and a batch that is replayed is to run */ }
        String[] texts = others == null ? new String[0] : new String(others, StandardCharsets.UTF_8).split("\0", -1);
        for (int i = 1; i < texts.length; i += 2) {
            all.put(texts[i - 1], texts[i]);
        }
        return all;
    }

    /** No method of these returns a text, so a text is an error; an empty one says that `query.stop()` was called. */
    private Object answer(String name, Object given) {
        Object answer = python.apply(name, given);
        if (!(answer instanceof String)) {
            return answer;
        }
        Throwable because = cause;
        cause = null;
        if (((String) answer).isEmpty()) {
            throw new UncheckedIOException(new InterruptedIOException("query.stop()"));
        }
        throw new AlignmentError((String) answer, because);
    }

    /** Scala throws what Java would have it declare. Of that, a proxy lets nothing through as it is. */
    private static Throwable unchecked(Throwable thrown) {
        if (thrown instanceof InterruptedException) {
            return new UncheckedIOException((InterruptedIOException) new InterruptedIOException("query.stop()").initCause(thrown));
        }
        if (thrown instanceof java.io.IOException) {
            return new UncheckedIOException((java.io.IOException) thrown);
        }
        return thrown instanceof RuntimeException || thrown instanceof Error ? thrown : new RuntimeException(thrown.getMessage(), thrown);
    }

    /** PySpark shows no more of such an error than its message. The stack is in Python's log, at DEBUG. */
    public static class AlignmentError extends IllegalArgumentException {
        public AlignmentError(String sentence, Throwable cause) {
            super(sentence, cause);
        }

        public synchronized Throwable fillInStackTrace() {
            return this;
        }

        public String toString() {
            return getMessage();
        }
    }
}
