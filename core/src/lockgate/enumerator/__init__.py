"""The split enumerator of one source: which reader reads which split, and from which offset.

Used by the coordinator service. The theory is in `lockgate.enumerator.exchange`, that of shares in
`lockgate.enumerator.shares`.
"""
