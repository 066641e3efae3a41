"""Rules of the split enumerator."""

from rule_breaks.breaking import Break

MODEL = ("test_enumerator_model.py",)
CLAIMS = ("test_claims.py",)
EXCHANGES = ("test_exchanges.py",)
ARRIVALS = ("test_arrivals.py",)

ASSIGNMENTS: tuple[Break, ...] = (
    Break(
        "splits are their reader's own until its lease has ended",
        "enumerator/leases.py",
        "return reader.heard_at + reader.lease_ms",
        "return reader.heard_at + reader.lease_ms // 2",
        MODEL,
    ),
    Break(
        "of two that present a split the higher number wins",
        "enumerator/claims.py",
        "if number < held.number or (number == held.number and holder[0] != reader[0]):",
        "if number == held.number and holder[0] != reader[0]:",
        CLAIMS,
    ),
    Break(
        "the number of one subtask is no claim of another",
        "enumerator/claims.py",
        "if number < held.number or (number == held.number and holder[0] != reader[0]):",
        "if number < held.number:",
        CLAIMS,
    ),
    Break(
        "a message that comes late claims no split that was given back",
        "enumerator/claims.py",
        "work.give_up(reader, claimed.split.split_id, work.number())",
        "work.give_up(reader, claimed.split.split_id, claimed.assignment)",
        CLAIMS,
    ),
    Break(
        "nothing is assigned for one lease after a loss",
        "enumerator/exchange.py",
        "max(work.now.assigning_at, work.now_ms + config.lease_ms)",
        "max(work.now.assigning_at, work.now_ms)",
        CLAIMS,
    ),
    Break(
        "after a loss no split begins at the beginning unasked",
        "enumerator/discovery.py",
        "return _at(split, COMMITTED_OFFSET) if split.starting_offset in BEGINNING_OR_END else split",
        "return split",
        CLAIMS,
    ),
    Break(
        "positions go back by a restore alone",
        "enumerator/model.py",
        "return old if goes_back and not restored else new",
        "return new",
        EXCHANGES,
    ),
    Break(
        "an older epoch is refused",
        "enumerator/exchange.py",
        "if newest > reader[1]:",
        "if newest > reader[1] + 1_000_000:",
        EXCHANGES,
    ),
    Break(
        "a split that has appeared later begins at the earliest",
        "enumerator/discovery.py",
        "EARLIEST_OFFSET) if now.listed and split.starting_offset < 0 else split",
        "EARLIEST_OFFSET) if split.starting_offset < -9 else split",
        ("test_discovery.py",),
    ),
    Break(
        "a missing split is given to nobody",
        "enumerator/assigning.py",
        "free = [id for id in work.free if id not in missing]",
        "free = list(work.free)",
        ("test_discovery.py",),
    ),
    Break(
        "the one that has more than its floor keeps the extra split",
        "enumerator/shares.py",
        "(has.get(reader, 0) <= floors[reader], -fractions[reader], reader)",
        "(-fractions[reader], reader)",
        ("test_shares.py",),
    ),
    Break(
        "a lost reader holds its group while a split that it had waits for a reader",
        "enumerator/replaced.py",
        "all(last not in (subtask, None) for last in waiting)",
        "True",
        ("test_replaced.py",),
    ),
    Break(
        "a lost reader holds its group while its splits are its own",
        "enumerator/replaced.py",
        "enumerator.listed and not holds and",
        "enumerator.listed and",
        ("test_replaced.py",),
    ),
    Break(
        "a lost reader that has come back stays in its group",
        "enumerator/replaced.py",
        "if reader is not None and reader.lost:",
        "if reader is not None:",
        ("test_replaced.py",),
    ),
    Break(
        "a split on its way holds the group where it stood",
        "enumerator/work.py",
        "        self.arrive(reader, arriving)\n",
        "",
        ARRIVALS,
    ),
    Break(
        "a split that nobody has read of has not arrived",
        "enumerator/arrivals.py",
        "return split.watermark > MIN or split.state in RESTING",
        "return True",
        ARRIVALS,
    ),
    Break(
        "an idle split holds nobody on its way",
        "enumerator/arrivals.py",
        "if split is None or split.state in RESTING or split.watermark == MIN:",
        "if split is None:",
        ARRIVALS,
    ),
    Break(
        "nobody waits for a missing split",
        "enumerator/arrivals.py",
        "if id in missing:",
        "if id in ():",
        ARRIVALS,
    ),
    Break(
        "a process that begins anew counts with what its older epoch holds",
        "enumerator/exchange.py",
        "    if known is None:\n        take_over(work, id)\n",
        "",
        ARRIVALS,
    ),
    Break(
        "a split that was never opened takes its watermark along",
        "enumerator/work.py",
        "if id in self.readers[epoch].arriving:",
        "if id == '':",
        ARRIVALS,
    ),
    Break(
        "a split of a reader that leaves holds the group",
        "enumerator/work.py",
        "last=reader[0], watermark=stood), id)",
        "last=reader[0]), id)",
        ARRIVALS,
    ),
    Break(
        "a reader that has finished waits for nothing",
        "group/reader.py",
        "if reader.arriving is None or (reported is not None and reported.finished):",
        "if reader.arriving is None:",
        ARRIVALS,
    ),
)
