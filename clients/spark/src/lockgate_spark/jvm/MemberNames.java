// What a class has, for `doctor`: py4j pays for every value that crosses, so the names come in one text.
// Compiled as KafkaLog is: no lambdas, no type arguments.

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Set;
import java.util.TreeSet;

public class MemberNames {
    private final ClassLoader loader;

    public MemberNames(ClassLoader loader) {
        this.loader = loader;
    }

    /** The names of a class's public methods, of its fields, also private and inherited ones, and of its parameters' types; null if it is missing. */
    public String of(String name) {
        Set found = new TreeSet();
        try {
            Class owner = Class.forName(name, false, loader);
            Method[] methods = owner.getMethods();
            for (int i = 0; i < methods.length; i++) {
                found.add(methods[i].getName());
                Class[] types = methods[i].getParameterTypes();
                for (int j = 0; j < types.length; j++) found.add(types[j].getName());
            }
            for (; owner != null; owner = owner.getSuperclass()) {
                Field[] fields = owner.getDeclaredFields();
                for (int i = 0; i < fields.length; i++) found.add(fields[i].getName());
            }
        } catch (ClassNotFoundException missing) {
            return null;
        } catch (LinkageError missing) {
            return null; // it names a class that is missing
        }
        return String.join("\n", found);
    }
}
