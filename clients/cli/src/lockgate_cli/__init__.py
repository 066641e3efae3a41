"""The commands for a running coordinator, such as groups, describe, pause, evict, export and
import.

`__main__` adds them to the command `lockgate`. They use the public REST API. The guide is in
docs/operations.md, "Commands for operators".
"""
