"""Compiles the client's Java classes in the driver, by the Janino that Spark brings for its own generated code.

So Kafka is asked for all splits by one call from Python, with no jar to build, ship or match to a Scala version.
"""

from importlib.resources import files
from typing import Any

_JAVA_8 = 8

_constructors: dict[tuple[int, str], Any] = {}  # by gateway, and by the name under which the class was compiled


def new_kafka_log(gateway: Any, beside: Any, params: Any, kind: str = "KafkaLog") -> Any:
    """A `KafkaLog`, or another `kind`, over Kafka's client params (a Java map), beside a Java object that sees Kafka."""
    return new_java(gateway, beside, "lockgate_spark.logs", kind, params)


def new_java(gateway: Any, beside: Any, package: str, kind: str, argument: Any) -> Any:
    """An object of the class `kind`, whose source is in the Python `package`, made by its only constructor, of one argument.

    Its class is loaded beside the Java object `beside`, and sees what that one sees.
    """
    loader = beside.getClass().getClassLoader()
    # py4j remembers methods by the class's name alone, so every class loader gets a name of its own, and one class.
    name = f"{kind}{gateway.jvm.java.lang.System.identityHashCode(loader)}"
    if (id(gateway), name) not in _constructors:
        _constructors[id(gateway), name] = _compile(gateway, loader, package, kind, name)
    arguments = gateway.new_array(gateway.jvm.java.lang.Object, 1)
    arguments[0] = argument
    return _constructors[id(gateway), name].newInstance(arguments)


def _compile(gateway: Any, loader: Any, package: str, kind: str, name: str) -> Any:
    source = files(package).joinpath(f"{kind}.java").read_text(encoding="utf-8")
    compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setTargetVersion(_JAVA_8)
    compiler.setParentClassLoader(loader)
    compiler.cook(source.replace(f"class {kind} ", f"class {name} ").replace(f"public {kind}(", f"public {name}("))
    return compiler.getClassLoader().loadClass(name).getConstructors()[0]
