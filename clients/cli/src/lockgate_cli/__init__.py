"""The commands for a running coordinator: groups, describe, evict, leave, delete, export, import.

`__main__` adds them to the command `lockgate`. They use the public REST API.
Theory: docs/operations.md, "Commands for operators".
"""
