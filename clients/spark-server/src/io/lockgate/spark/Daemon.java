package io.lockgate.spark;

/** A thread of this jar. The driver may end while it runs. */
final class Daemon extends Thread {
    Daemon(String does, Runnable work) {
        super(work, "lockgate-" + does);
        setDaemon(true);
    }

    static Daemon started(String does, Runnable work) {
        Daemon made = new Daemon(does, work);
        made.start();
        return made;
    }
}
