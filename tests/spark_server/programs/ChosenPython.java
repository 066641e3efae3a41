package io.lockgate.spark;

import org.apache.spark.SparkConf;

/** Prints which Python this environment and a conf choose: of all keys given, of all but the first, and so on to none. */
public final class ChosenPython {
    public static void main(String[] keys) {
        for (int from = 0; from <= keys.length; from++) {
            SparkConf conf = new SparkConf(false);
            for (int at = from; at < keys.length; at++) {
                conf.set(keys[at], "/by/" + keys[at]);
            }
            System.out.println(PythonChoice.by(conf).path());
        }
    }
}
