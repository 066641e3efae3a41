"""The commands that inspect and change a running coordinator.

`__main__` adds them to the command `lockgate`. They use the public REST API. Guide:
docs/operations.md, "Commands for operators".
"""
