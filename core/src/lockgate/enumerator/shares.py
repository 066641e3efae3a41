"""Shares: how many splits each reader gets, with as few moves as possible.

N splits are shared by capacity. With capacity c, a reader has the exact share q = N · c / Σc. It
gets ⌊q⌋ or ⌈q⌉ splits, so no reader is a whole split away from its exact share. The shares have to
add up to N. So R = N − Σ⌊q⌋ readers get one more, out of those whose q is not a whole number. There
are more than R of these unless R is 0.

*The fewest moves.* A reader keeps the splits that it has up to its share, and the rest moves. If
reader i has has_i splits, Σ max(0, has_i − share_i) splits move. All get ⌊q_i⌋ splits, and one more
for reader i saves one move exactly if has_i > ⌊q_i⌋. So such readers get the extra splits first,
and any other choice moves at least as many. If this does not decide, the greater fraction of q goes
first, then the lower subtask.

Flink's `KafkaSourceEnumerator.getSplitOwner` gives partition p of a topic to reader (hash(topic) +
p) mod parallelism. This is even within a topic but not across topics, and almost all splits move if
a reader comes or goes.
"""

from collections.abc import Mapping


def shares(total: int, capacities: Mapping[int, int], has: Mapping[int, int]) -> dict[int, int]:
    """Return how many of `total` splits each subtask gets. Takes O(readers · log readers).

    `has` maps each subtask to its present number of splits. Subtasks with capacity 0 get none.
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
