package io.lockgate.spark;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Hands lines of Python's log, `LEVEL text`, to the driver's log at their level. A line without a level belongs to the one before it. */
final class LogLines {
    private static final Logger LOG = LoggerFactory.getLogger("lockgate");

    private String level = "WARNING";

    void log(String line) {
        int end = line.indexOf(' ');
        String text = line;
        if (end > 0 && isLevel(line.substring(0, end))) {
            level = line.substring(0, end);
            text = line.substring(end + 1);
        }
        switch (level) {
            case "DEBUG" -> LOG.debug(text);
            case "INFO" -> LOG.info(text);
            case "WARNING" -> LOG.warn(text);
            default -> LOG.error(text);
        }
    }

    private static boolean isLevel(String word) {
        return word.equals("DEBUG") || word.equals("INFO") || word.equals("WARNING") || word.equals("ERROR") || word.equals("CRITICAL");
    }
}
