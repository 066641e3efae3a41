package io.lockgate.spark;

import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.jdk.javaapi.CollectionConverters;

/** What a user has set for alignment: `lockgate.*` among a stream's options, `spark.lockgate.*` in its session's conf. */
final class Settings {
    static final String OPTIONS = "lockgate.";
    static final String CONF = "spark.lockgate.";

    private Settings() {
    }

    static Map<String, String> of(CaseInsensitiveStringMap options) {
        return those(options.asCaseSensitiveMap(), OPTIONS);
    }

    static Map<String, String> of(SparkSession session) {
        return those(CollectionConverters.asJava(session.conf().getAll()), CONF);
    }

    /** Whether Python is to look at them. Where alignment is off, or nobody has asked, no Python is started. */
    static boolean mention(Map<String, String> options, Map<String, String> conf) {
        if (is(conf.get(CONF + "enabled"), "false")) {
            return false;
        }
        boolean asked = conf.containsKey(CONF + "align") && !is(conf.get(CONF + "align"), "false");
        return !options.isEmpty() || asked;
    }

    private static boolean is(String value, String expected) {
        return value != null && value.trim().equalsIgnoreCase(expected);
    }

    private static Map<String, String> those(Map<String, String> all, String prefix) {
        Map<String, String> found = new TreeMap<>();
        for (Map.Entry<String, String> each : all.entrySet()) {
            if (each.getKey().toLowerCase(Locale.ROOT).startsWith(prefix)) {
                found.put(each.getKey(), each.getValue());
            }
        }
        return found;
    }
}
