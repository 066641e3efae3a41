"""Tokens of every role, as a test sends them and as a file has them; and a clock that does not move
by itself.
"""

from lockgate_coordinator.access.tokens import Role, Token, digest_of, stanza

SECRETS = {
    "reader": "lockgate_reader-0123456789abcdef",
    "reporter": "lockgate_reporter-0123456789abcdef",
    "admin": "lockgate_admin-0123456789abcdef",
    "orders": "lockgate_orders-0123456789abcdef",
    "boss": "lockgate_boss-0123456789abcdef",
}
TOKENS = (
    Token("reader", digest_of(SECRETS["reader"].encode()), Role.READ),
    Token("reporter", digest_of(SECRETS["reporter"].encode()), Role.REPORT),
    Token("admin", digest_of(SECRETS["admin"].encode()), Role.ADMIN),
    Token("orders", digest_of(SECRETS["orders"].encode()), Role.REPORT, ("orders*", "one")),
    Token("boss", digest_of(SECRETS["boss"].encode()), Role.ADMIN, ("one",)),
)


def bearer(name: str) -> dict[str, str]:
    """The headers of a request with the token of this name; "" for none."""
    return {"Authorization": f"Bearer {SECRETS[name]}"} if name else {}


FILE = "\n\n".join(stanza(token) for token in TOKENS)


class Clock:
    """Monotonic seconds that a test moves on."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now
