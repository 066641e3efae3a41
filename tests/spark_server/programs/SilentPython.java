package io.lockgate.spark;

import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import py4j.JavaServer;

/** Watches a Python that plans, and one that is stopped amid a plan: prints the plan of the first, and the exit code of the second. */
public final class SilentPython {
    private static final long STEP_MS = 50;
    private static final int NEVER = Integer.MAX_VALUE;
    private final CompletableFuture<BiFunction<String, Object[], Object>> answers = new CompletableFuture<>();

    public void register(BiFunction<String, Object[], Object> made) {
        answers.complete(made);
    }

    public static void main(String[] python) throws Exception {
        SilentPython plans = new SilentPython();
        Process planning = plans.started(python);
        SilentHost.watch(planning, plans.answers.get(), STEP_MS, NEVER);
        System.out.println(plans.answers.get().apply("plan", new Object[0]));
        planning.destroyForcibly();

        SilentPython hangs = new SilentPython();
        Process stopped = hangs.started(python);
        new Daemon("plan", () -> hangs.answers.join().apply("stop", new Object[0])).start();
        hangs.answers.get();
        SilentHost.watch(stopped, hangs.answers.get(), STEP_MS, 20);
        System.out.println("ended with " + stopped.waitFor());
        System.exit(0);
    }

    private Process started(String[] python) throws Exception {
        JavaServer server = PythonLink.server(this, "a secret");
        server.start(true);
        ProcessBuilder builder = new ProcessBuilder(python[0], python[1], String.valueOf(server.getListeningPort())).inheritIO();
        return builder.redirectInput(ProcessBuilder.Redirect.PIPE).start();
    }
}
