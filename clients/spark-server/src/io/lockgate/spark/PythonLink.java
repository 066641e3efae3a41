package io.lockgate.spark;

import java.net.InetAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import javax.net.SocketFactory;
import py4j.Gateway;
import py4j.JavaServer;
import py4j.Py4JClientConnection;
import py4j.Py4JJavaServer;
import py4j.Py4JPythonClient;
import py4j.PythonClient;

/**
 * py4j's way from Java to Python, with the secret that its own copy for a new port leaves out. Each thread has a connection of its own, which
 * py4j keeps for ever. Here the connections of ended threads are closed, for each run of a query has a thread.
 */
final class PythonLink extends PythonClient {
    private final String secret;
    private final Map<Thread, Py4JClientConnection> connections = new ConcurrentHashMap<>();

    private PythonLink(Gateway gateway, int port, InetAddress address, Py4JJavaServer server, String secret) {
        super(gateway, null, port, address, DEFAULT_MIN_CONNECTION_TIME, TimeUnit.SECONDS, SocketFactory.getDefault(), server, true, 0, secret);
        this.secret = secret;
    }

    /** A server on a loopback port that needs the secret. It learns Python's port from Python, and needs the same secret there. */
    static JavaServer server(Object entryPoint, String secret) {
        PythonLink link = new PythonLink(null, 0, InetAddress.getLoopbackAddress(), null, secret);
        JavaServer server = new JavaServer(entryPoint, 0, 0, 0, null, link, secret);
        link.setGateway(server.getGateway());
        link.setJavaServer(server);
        return server;
    }

    @Override
    protected void giveBackConnection(Py4JClientConnection connection) {
        super.giveBackConnection(connection);
        if (connections.put(Thread.currentThread(), connection) != connection) {
            connections.keySet().forEach(this::closeIfEnded);
        }
    }

    private void closeIfEnded(Thread thread) {
        Py4JClientConnection left = thread.isAlive() ? null : connections.remove(thread);
        if (left != null) {
            left.shutdown();
        }
    }

    @Override
    public Py4JPythonClient copyWith(InetAddress address, int port) {
        return new PythonLink(gateway, port, address, javaServer, secret);
    }
}
