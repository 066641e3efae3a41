package io.lockgate.spark;

import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.spark.SparkConf;

/** Which Python the host runs on, where that was said, and what to do where it cannot. */
final class PythonChoice {
    private static final String KEY = "spark.lockgate.python";
    private static final String[] CONF = {KEY, "spark.pyspark.driver.python", "spark.pyspark.python"};
    private static final String[] ENVIRONMENT = {"PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON"};

    private final String path;
    private final String by;

    private PythonChoice(String path, String by) {
        this.path = path;
        this.by = by;
    }

    static PythonChoice by(SparkConf conf) {
        for (String key : CONF) {
            if (conf.contains(key)) {
                return new PythonChoice(conf.get(key), key);
            }
        }
        for (String name : ENVIRONMENT) {
            String value = System.getenv(name);
            // a notebook's own command is no Python
            if (value != null && new File(value).getName().startsWith("python")) {
                return new PythonChoice(value, name);
            }
        }
        return new PythonChoice("python3", "the PATH");
    }

    String path() {
        return path;
    }

    /** PySpark of the very version that runs, from Spark's own folder where it has one. */
    void addSparksOwn(Map<String, String> environment) throws IOException {
        String home = System.getenv("SPARK_HOME");
        Path lib = home == null ? null : Path.of(home, "python", "lib");
        if (lib == null || !Files.isRegularFile(lib.resolve("pyspark.zip"))) {
            return;
        }
        StringBuilder found = new StringBuilder(lib.resolve("pyspark.zip").toString());
        try (DirectoryStream<Path> each = Files.newDirectoryStream(lib, "py4j-*-src.zip")) {
            each.forEach(zip -> found.append(File.pathSeparator).append(zip));
        }
        environment.merge("PYTHONPATH", found.toString(), (old, added) -> added + File.pathSeparator + old);
    }

    String cannotRun(String why) {
        return "the Python beside the driver cannot be started (" + why + "): " + named() + ". Set " + KEY
            + " to a Python 3.10 or newer that has lockgate-spark";
    }

    String ended(int code, String said) {
        if (said.contains("No module named 'lockgate_spark'") || said.contains("No module named lockgate_spark")) {
            return named() + " on the driver's machine has no lockgate_spark: run `" + path + " -m pip install lockgate-spark==" + version()
                + "` there, or set " + KEY + " to a Python that has it";
        }
        return named() + " ended with code " + code + " before it could plan: " + said;
    }

    String tooSlow(long ms, String said) {
        return named() + " was not ready to plan within " + ms / 1000 + " s: " + said;
    }

    private String named() {
        return path + " (from " + by + ")";
    }

    /** Of this jar; empty for classes that are in none. */
    static String version() {
        String version = PythonChoice.class.getPackage().getImplementationVersion();
        return version == null ? "" : version;
    }
}
