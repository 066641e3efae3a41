"""The operator's commands for a running coordinator: groups, describe, evict, leave, forget,
export, import.
`__main__` adds them to the command `lockgate`. They use the REST API, as every client does.
Theory: docs/operations.md, "Commands for operators".
"""
