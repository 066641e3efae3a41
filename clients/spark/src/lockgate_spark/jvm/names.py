"""Names of Java classes and fields, asked of the objects themselves."""

from typing import Any


def class_name(java: Any) -> str:
    """The simple name of a Java object's class, without the `$` of a Scala object."""
    return str(java.getClass().getSimpleName()).rstrip("$")


def option(scala_option: Any) -> Any:
    """What is in a Scala `Option`; None when it is empty."""
    return scala_option.get() if scala_option.isDefined() else None
