// The gauges of one query in Spark's metrics system, whose sinks ask for them on threads of their own: the values lie here, and no sink
// waits for Python. Compiled as KafkaLog is: no lambdas, no type arguments.

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.metrics.source.Source;

public class AlignmentGauges implements Source {
    private final String name;
    private final MetricRegistry registry = new MetricRegistry();
    private final Map values = new ConcurrentHashMap();

    public AlignmentGauges(String name) {
        this.name = name;
    }

    public String sourceName() {
        return name;
    }

    public MetricRegistry metricRegistry() {
        return registry;
    }

    /** Values, one a line: name, tab, integer, which is left out where there is none. A gauge is made for its first value. */
    public void show(String lines) {
        String[] shown = lines.split("\n");
        for (int i = 0; i < shown.length; i++) {
            int tab = shown[i].indexOf('\t');
            String gauge = shown[i].substring(0, tab);
            String value = shown[i].substring(tab + 1);
            if (value.isEmpty() && !values.containsKey(gauge)) continue;
            // Without a value it is NaN, which every sink can write; null none can.
            values.put(gauge, value.isEmpty() ? (Object) Double.valueOf(Double.NaN) : (Object) Long.valueOf(value));
            if (!registry.getNames().contains(gauge)) registry.register(gauge, new Value(values, gauge));
        }
    }

    private static class Value implements Gauge {
        private final Map values;
        private final String name;

        Value(Map values, String name) {
            this.values = values;
            this.name = name;
        }

        public Object getValue() {
            return values.get(name);
        }
    }
}
