package io.lockgate.spark;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;

/**
 * The threads that wait for the host's answers. Each question has one, so that a coordinator that does not answer holds those alone who ask
 * for it. What one session may ask at once is bounded, so that no user makes the host run out of threads and sockets. Threads are used
 * again, for each that calls Python has a connection of its own there, and Spark's own come and go.
 */
final class Callers {
    static final int OF_A_SESSION = 32;
    private static final ExecutorService THREADS = Executors.newCachedThreadPool(work -> new Daemon("calls", work));
    private static final Map<Object, Semaphore> FREE = Collections.synchronizedMap(new WeakHashMap<>());

    private Callers() {
    }

    /** What `question` gives, asked by a thread of these. Throws its error; an interrupt ends the wait for a free one, or for the answer. */
    static Object call(Object session, Callable<Object> question) throws InterruptedException {
        Semaphore free = FREE.computeIfAbsent(session, of -> new Semaphore(OF_A_SESSION));
        // by which py4j finds classes: those that a client has uploaded are its own session's
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        free.acquire();
        try {
            return THREADS.submit(() -> {
                try {
                    Thread.currentThread().setContextClassLoader(loader);
                    return question.call();
                } finally {
                    // an asker who was interrupted does not wait any more, and the question is still open
                    free.release();
                }
            }).get();
        } catch (OutOfMemoryError thrown) {
            free.release(); // no thread could be made
            throw thrown;
        } catch (ExecutionException thrown) {
            Throwable cause = thrown.getCause();
            throw cause instanceof RuntimeException ? (RuntimeException) cause : new IllegalStateException(cause);
        }
    }
}
