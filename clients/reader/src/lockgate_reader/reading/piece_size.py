"""How many records go out between two checks of the timers. Pure.

Timers fire only between pieces. So a piece has as many records as the program processes in a tenth
of a second, and never more than are fetched at once.
"""

CHUNK = 500
"""How many records are fetched at once, and go out in one piece at most. More is slower: they no
longer fit the processor's caches.
"""
PIECE_MS = 100


class PieceSize:
    """`most`: how many records the next piece may have. Clocks are in ms."""

    def __init__(self) -> None:
        self.most = 1
        self._began_ms = 0

    def begins(self, now_ms: int) -> None:
        """Note that a piece begins to go out."""
        self._began_ms = now_ms

    def took(self, count: int, now_ms: int) -> None:
        """So many records have gone out, and were worked on."""
        took_ms = now_ms - self._began_ms
        if took_ms <= PIECE_MS // 2:
            self.most = min(CHUNK, max(self.most, count * 2))
        elif took_ms > PIECE_MS:
            self.most = max(1, min(CHUNK, count * PIECE_MS // took_ms))
