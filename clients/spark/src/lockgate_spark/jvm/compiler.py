"""Compiles Java classes in the driver with Janino, as Spark does. So no jar must be shipped."""

import uuid
from importlib.resources import files
from typing import Any

_JAVA_8 = 8
_KAFKA = "org.apache.kafka."

# by JVM, and by class and class loader
_constructors: dict[tuple[int, str], Any] = {}


def new_kafka_log(gateway: Any, beside: Any, params: Any, kind: str = "KafkaLog") -> Any:
    """Return a new object of the Java class `kind`, which uses Kafka's client with `params`."""
    before, kafka, _ = str(params.get("key.deserializer")).partition(_KAFKA)
    return new_java(gateway.jvm, beside, "lockgate_spark.logs", kind, params, shading=before if kafka else "")


def new_java(jvm: Any, beside: Any, package: str, kind: str, *arguments: Any, shading: str = "") -> Any:
    """Return a new object of the Java class `kind`, compiled from its source in the Python
    `package`. It can use the same classes as the Java object `beside`. `shading` is a prefix that a
    vendor has put before Kafka's class names, such as `kafkashaded.`, or empty.
    """
    loader = beside.getClass().getClassLoader()
    # py4j remembers methods by the class's name alone. So a class that is compiled has a name of
    # its own: other class loaders, and another Python that a driver gets later, compile it too.
    place = id(jvm), f"{kind}{jvm.java.lang.System.identityHashCode(loader)}"
    if place not in _constructors:
        name = f"{place[1]}_{uuid.uuid4().hex}"
        _constructors[place] = compiled(jvm, loader, package, kind, name, shading)
    given = jvm.java.util.ArrayList()
    for each in arguments:
        given.add(each)
    return _constructors[place].newInstance(given.toArray())


def compiled(jvm: Any, loader: Any, package: str, kind: str, name: str, shading: str) -> Any:
    """Compile the Java source `kind` to a class called `name`, and return its constructor."""
    source = files(package).joinpath(f"{kind}.java").read_text(encoding="utf-8").replace(_KAFKA, shading + _KAFKA)
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setTargetVersion(_JAVA_8)
    compiler.setParentClassLoader(loader)
    compiler.cook(source.replace(f"class {kind} ", f"class {name} ").replace(f"public {kind}(", f"public {name}("))
    return compiler.getClassLoader().loadClass(name).getConstructors()[0]
