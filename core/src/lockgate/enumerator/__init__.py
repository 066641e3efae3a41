"""The split enumerator of one source. The coordinator uses it to decide which reader reads which
split, and from which offset. The theory is in `lockgate.enumerator.exchange`, and `shares` has the
rule for the number of splits per reader.
"""
