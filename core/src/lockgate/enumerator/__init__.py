"""The split enumerator of one source: which reader reads which split, and from where on.

Used by the coordinator service. The theory is in `lockgate.enumerator.exchange`, of the shares in
`lockgate.enumerator.shares`.
"""
