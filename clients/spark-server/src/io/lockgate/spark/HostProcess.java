package io.lockgate.spark;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiFunction;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.Table;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import py4j.JavaServer;
import py4j.Py4JException;
import py4j.Py4JNetworkException;

/**
 * One Python process, `python -m lockgate_spark.host`, with a py4j server on the loopback address that it needs a secret for. Its
 * standard input is a pipe from this driver, whose end ends it. What it prints goes to the driver's log.
 */
public final class HostProcess {
    private static final Logger LOG = LoggerFactory.getLogger("lockgate");
    private static final long START_MS = 120_000;
    private static final int STARTS = 5;
    private static final int SIGNAL = 128; // added to a signal's number, an exit code that says so
    private static final long GONE_MS = 10_000;
    private static final long QUERIES_END_MS = 10_000;
    private static final int LINES = 15;
    // the client's class for it
    private static final String UNSUPPORTED = "UnsupportedQuery: ";
    private static final String[] NOT_FOR_IT = {"SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "PYTHONHOME"};

    private final WeakReference<SparkContext> context; // that of a driver which goes on without it may be forgotten
    private final PythonChoice python;
    private final Deque<String> lastLines = new ArrayDeque<>();
    private final CountDownLatch registered = new CountDownLatch(1);
    private final AtomicBoolean leaves = new AtomicBoolean();
    private JavaServer server;
    private Process process;
    private boolean killed; // by somebody else, before it could plan
    private volatile BiFunction<String, Object[], Object> answers;

    private HostProcess(SparkContext context) {
        this.context = new WeakReference<>(context);
        this.python = PythonChoice.by(context.getConf());
    }

    /** A process that is killed while it starts is started again, a few times. */
    static HostProcess start(SparkContext context) throws InterruptedException {
        for (int left = STARTS - 1; ; left--) {
            HostProcess made = new HostProcess(context);
            try {
                made.started();
                made.endWith(context);
                return made;
            } catch (StandIn.AlignmentError thrown) {
                if (left == 0 || !made.killed) {
                    throw thrown;
                }
                LOG.warn("the Python process beside the driver was killed while it started; starting another one");
            }
        }
    }

    private void started() throws InterruptedException {
        long began = System.nanoTime();
        try {
            launch();
            await();
        } catch (IOException thrown) {
            end();
            throw new StandIn.AlignmentError(python.cannotRun(thrown.getMessage()), thrown);
        } catch (InterruptedException | RuntimeException thrown) {
            end();
            throw thrown;
        }
        SilentHost.watch(process, answers);
        LOG.info("{} plans beside this driver: process {}, started in {} ms", python.path(), process.pid(),
            (System.nanoTime() - began) / 1_000_000);
    }

    static UncheckedIOException stopped(InterruptedException thrown) {
        return new UncheckedIOException((InterruptedIOException) new InterruptedIOException("query.stop()").initCause(thrown));
    }

    // -- called by Python --

    public void register(BiFunction<String, Object[], Object> made) {
        answers = made;
        registered.countDown();
    }

    public AlignedTable table(Table spark, Map<String, String> options, Map<String, String> conf, SparkSession session) {
        return new AlignedTable(spark, options, conf, session);
    }

    public AlignedTable tableOf(Table proxy) {
        return AlignedTable.of(proxy);
    }

    public JavaSparkContext context() {
        return new JavaSparkContext(context.get());
    }

    // -- called by Java --

    BiFunction<String, Object[], Object> answers() {
        return answers;
    }

    boolean isAlive() {
        return process.isAlive() && answers != null;
    }

    boolean isOf(SparkContext other) {
        return context.get() == other;
    }

    /** Ends it in peace: it writes what it has to write. Queries that end have a moment for that. */
    void leave() {
        if (leaves.compareAndSet(false, true)) {
            Daemon.started("host-end", this::closeItsInput);
        }
    }

    /** Whether a call has failed since the process has ended. A process whose connection has broken takes a moment to be gone. */
    boolean hasEndedWith(Py4JException thrown) {
        boolean broken = thrown.getCause() instanceof Py4JNetworkException || thrown.getCause() instanceof IOException;
        try {
            return !isAlive() || broken && process.waitFor(GONE_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException stopped) {
            throw stopped(stopped);
        }
    }

    private void launch() throws IOException, InterruptedException {
        byte[] random = new byte[32];
        new SecureRandom().nextBytes(random);
        String secret = HexFormat.of().formatHex(random);
        server = PythonLink.server(this, secret);
        // py4j's threads are daemons if the one that starts them is
        Daemon.started("host", () -> server.start(true)).join();
        ProcessBuilder builder = new ProcessBuilder(python.path(), "-m", "lockgate_spark.host").redirectErrorStream(true);
        Map<String, String> environment = builder.environment();
        for (String name : NOT_FOR_IT) {
            environment.remove(name);
        }
        environment.put("PYSPARK_GATEWAY_PORT", String.valueOf(server.getListeningPort()));
        environment.put("PYSPARK_GATEWAY_SECRET", secret);
        environment.put("PYSPARK_PIN_THREAD", "true");
        environment.put("LOCKGATE_LOG", LOG.isDebugEnabled() ? "DEBUG" : "INFO");
        environment.put("LOCKGATE_JAR", PythonChoice.version());
        python.addSparksOwn(environment);
        process = builder.start();
        Daemon.started("host-log", this::passOnLines);
    }

    private void await() throws InterruptedException {
        long until = System.currentTimeMillis() + START_MS;
        while (!registered.await(50, TimeUnit.MILLISECONDS)) {
            if (!process.isAlive()) {
                killed = process.waitFor() > SIGNAL;
                throw new StandIn.AlignmentError(UNSUPPORTED + python.ended(process.exitValue(), said()), null);
            }
            if (System.currentTimeMillis() > until) {
                throw new StandIn.AlignmentError(UNSUPPORTED + python.tooSlow(START_MS, said()), null);
            }
        }
    }

    private void endWith(SparkContext context) {
        context.addSparkListener(new SparkListener() {
            @Override
            public void onApplicationEnd(SparkListenerApplicationEnd event) {
                leave();
            }
        });
    }

    private void closeItsInput() {
        try {
            StreamRun.awaitEnds(this, QUERIES_END_MS);
            process.getOutputStream().close();
        } catch (IOException | InterruptedException thrown) {
            LOG.debug("the Python process beside the driver ends", thrown);
        }
    }

    private void end() {
        if (process != null) {
            process.destroyForcibly();
        }
        if (server != null) {
            server.shutdown();
        }
    }

    private String said() {
        synchronized (lastLines) {
            return String.join("\n", lastLines);
        }
    }

    private void passOnLines() {
        LogLines lines = new LogLines();
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                synchronized (lastLines) {
                    lastLines.addLast(line);
                    if (lastLines.size() > LINES) {
                        lastLines.removeFirst();
                    }
                }
                lines.log(line);
            }
        } catch (IOException thrown) {
            LOG.debug("the log of the Python process ends", thrown);
        }
        process.onExit().thenRun(server::shutdown);
    }
}
