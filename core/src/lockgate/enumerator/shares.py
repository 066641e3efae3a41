"""Shares: how many splits each reader gets, with as few moves as possible.

The rule. N splits are shared by capacity: of readers with capacities c, one reader's exact share is
q = N · c / Σc. It gets ⌊q⌋ or ⌈q⌉ splits, so no reader is a whole split away from its exact share.
The shares have to add up to N. So R = N − Σ⌊q⌋ readers get one more, out of those whose q is no
whole number; there are always more than R of these, or R is 0.

*The fewest moves.* A reader keeps what it has up to its share, and the rest moves. With `has_i`
splits in hand, Σ max(0, has_i − share_i) splits move. The floors are given, and one more for reader
i saves one move exactly if has_i > ⌊q_i⌋. So the extra ones go to such readers first; every other
choice moves at least as many. Among equals the greater fraction goes first, then the lower subtask.

Flink's `KafkaSourceEnumerator.getSplitOwner` gives partition p of a topic to reader (hash(topic) +
p) mod parallelism. That is even within a topic, and not over several, and a reader that comes or
goes moves almost all.
"""

from collections.abc import Mapping


def shares(total: int, capacities: Mapping[int, int], has: Mapping[int, int]) -> dict[int, int]:
    """Return how many of `total` splits each reader gets, by what it `has` now. Readers of capacity
    0 get none. O(readers · log readers).
    """
    whole = sum(capacities.values())
    if not whole:
        return dict.fromkeys(capacities, 0)
    floors = {reader: total * capacity // whole for reader, capacity in capacities.items()}
    fractions = {reader: total * capacity % whole for reader, capacity in capacities.items()}
    left = total - sum(floors.values())
    if left:
        eligible = [reader for reader, fraction in fractions.items() if fraction]
        eligible.sort(key=lambda reader: (has.get(reader, 0) <= floors[reader], -fractions[reader], reader))
        for reader in eligible[:left]:
            floors[reader] += 1
    return floors
