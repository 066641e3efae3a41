package io.lockgate.spark;

import java.util.function.BiFunction;
import py4j.JavaServer;

/** Calls a Python by many threads, each of which ends, and prints how many connections that Python has in the end. */
public final class EndedThreads {
    private static final int THREADS = 12;
    private static final long PATIENCE_NS = 20_000_000_000L; // a connection that was closed takes a moment to be gone
    private BiFunction<String, Object[], Object> answers;

    public synchronized void register(BiFunction<String, Object[], Object> made) {
        answers = made;
        notifyAll();
    }

    private synchronized BiFunction<String, Object[], Object> answers() throws InterruptedException {
        while (answers == null) {
            wait();
        }
        return answers;
    }

    public static void main(String[] python) throws Exception {
        EndedThreads entry = new EndedThreads();
        JavaServer server = PythonLink.server(entry, "a secret");
        server.start(true);
        ProcessBuilder builder = new ProcessBuilder(python[0], python[1], String.valueOf(server.getListeningPort())).inheritIO();
        Process process = builder.redirectInput(ProcessBuilder.Redirect.PIPE).start();
        BiFunction<String, Object[], Object> asked = entry.answers();
        for (int done = 0; done < THREADS; done++) {
            Thread thread = new Thread(() -> asked.apply("connections", new Object[0]));
            thread.start();
            thread.join();
        }
        long until = System.nanoTime() + PATIENCE_NS;
        Object connections = asked.apply("connections", new Object[0]);
        while (!connections.equals(1) && System.nanoTime() < until) {
            connections = asked.apply("connections", new Object[0]);
        }
        System.out.println(connections);
        process.destroyForcibly();
        System.exit(0);
    }
}
