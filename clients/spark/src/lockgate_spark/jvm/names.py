"""Names of Java classes and fields, asked of the objects themselves."""

from typing import Any


def class_name(java: Any) -> str:
    """Return the simple name of a Java object's class, without the `$` of a Scala object."""
    return str(java.getClass().getSimpleName()).rstrip("$")


def option(scala_option: Any) -> Any:
    """Return the content of a Scala `Option`; None if it is empty."""
    return scala_option.get() if scala_option.isDefined() else None
