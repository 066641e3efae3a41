"""Java's 64-bit arithmetic, on which SQL's watermark operators depend.

These operators compute with plain longs: a sum beyond 64 bits wraps around, and a remainder has the
sign of the dividend. All other arithmetic of this package saturates (`lockgate.watermark.add`).
"""


def wrapped(value: int) -> int:
    """Return `value` as a long holds it: modulo 2⁶⁴, between MIN and MAX."""
    return (value + 2**63) % 2**64 - 2**63


def remainder(dividend: int, divisor: int) -> int:
    """Return Java's `%` for a positive divisor. The result has the sign of the dividend."""
    rest = abs(dividend) % divisor
    return rest if dividend >= 0 else -rest
