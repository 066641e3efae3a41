// Kafka's client as vendors ship it: each class under another name, with all that it says of the others. It is renamed when it is loaded.

import java.io.InputStream;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.xbean.asm9.ClassReader;
import org.apache.xbean.asm9.ClassWriter;
import org.apache.xbean.asm9.commons.ClassRemapper;
import org.apache.xbean.asm9.commons.Remapper;

public class ShadedKafka extends ClassLoader {
    private final String prefix;

    public ShadedKafka(String prefix) {
        super(KafkaConsumer.class.getClassLoader());
        this.prefix = prefix;
    }

    protected Class findClass(String name) throws ClassNotFoundException {
        if (!name.startsWith(prefix)) throw new ClassNotFoundException(name);
        try {
            InputStream original = getParent().getResourceAsStream(name.substring(prefix.length()).replace('.', '/') + ".class");
            if (original == null) throw new ClassNotFoundException(name);
            ClassWriter renamed = new ClassWriter(0);
            new ClassReader(original.readAllBytes()).accept(new ClassRemapper(renamed, new Renaming(prefix.replace('.', '/'))), 0);
            byte[] code = renamed.toByteArray();
            return defineClass(name, code, 0, code.length);
        } catch (java.io.IOException unreadable) {
            throw new ClassNotFoundException(name);
        }
    }

    private static class Renaming extends Remapper {
        private final String prefix;

        Renaming(String prefix) {
            this.prefix = prefix;
        }

        public String map(String name) {
            return name.startsWith("org/apache/kafka/") ? prefix + name : name;
        }
    }
}
