package io.lockgate.spark;

/** Whether the extension takes a version of Spark. */
public final class SparkVersion {
    private SparkVersion() {}

    public static void main(String[] versions) {
        for (String version : versions) {
            LockgateExtensions.refuseSpark3(version);
        }
    }
}
