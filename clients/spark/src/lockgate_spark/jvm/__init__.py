"""The JVM's side of the client, by py4j. docs/internals/architecture.md shows a plan's way."""
