package io.lockgate.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;

/** A session with eight questions more than it may ask at once, none of which is answered: prints another one's answer, and how many were asked meanwhile. */
public final class ManyQuestions {
    public static void main(String[] none) throws Exception {
        Object slow = new Object();
        Semaphore asked = new Semaphore(0);
        CountDownLatch answer = new CountDownLatch(1);
        List<Thread> askers = new ArrayList<>();
        for (int n = 0; n < Callers.OF_A_SESSION + 8; n++) {
            askers.add(Daemon.started("asks", () -> wait(slow, asked, answer)));
        }
        asked.acquire(Callers.OF_A_SESSION);
        System.out.println(Callers.call(new Object(), () -> "answered"));
        System.out.println(asked.availablePermits() + " more");
        answer.countDown();
        for (Thread each : askers) {
            each.join();
        }
        System.out.println(asked.availablePermits() + " later");
    }

    private static void wait(Object slow, Semaphore asked, CountDownLatch answer) {
        try {
            Callers.call(slow, () -> {
                asked.release();
                answer.await();
                return null;
            });
        } catch (InterruptedException thrown) {
            throw new IllegalStateException(thrown);
        }
    }
}
