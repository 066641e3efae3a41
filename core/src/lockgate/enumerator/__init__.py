"""The split enumerator of one source, by which the coordinator decides which reader reads which
split, and from which offset. The theory is in `lockgate.enumerator.exchange`, and for the number of
splits per reader in `shares`.
"""
