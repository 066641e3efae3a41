"""The split enumerator of one source, for the coordinator: which reader reads which split, and from
which offset. The theory is in `lockgate.enumerator.exchange`, that of shares in `shares`.
"""
