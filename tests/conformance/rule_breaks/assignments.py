"""Rules of the split enumerator."""

from rule_breaks.breaking import Break

MODEL = ("test_enumerator_model.py",)
CLAIMS = ("test_claims.py",)
EXCHANGES = ("test_exchanges.py",)
ARRIVALS = ("test_arrivals.py",)
LARGE = ("test_large_exchanges.py",)

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
        "waiting = {split.last for id, split in enumerator.free.items() if id not in enumerator.missing}",
        "waiting = set[int | None]()",
        ("test_replaced.py",),
    ),
    Break(
        "a lost reader holds its group while its splits are its own",
        "enumerator/replaced.py",
        "    waiting.update(subtask for subtask, _ in enumerator.readers)\n",
        "",
        ("test_replaced.py",),
    ),
    Break(
        "a lost reader that has come back stays in its group",
        "enumerator/replaced.py",
        "if reader is not None and reader.lost]",
        "if reader is not None]",
        ("test_replaced.py",),
    ),
    Break(
        "a split on its way holds the group where it stood",
        "enumerator/work.py",
        "self._opened_arriving(reader)[id] = taken.watermark",
        "pass",
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
        "    if known is None:\n        yield from take_over(work, id)\n",
        "",
        ARRIVALS,
    ),
    Break(
        "a split that was never opened takes its watermark along",
        "enumerator/work.py",
        "return self._reported(subtask, id) if at is None else at",
        "return self._reported(subtask, id)",
        ARRIVALS,
    ),
    Break(
        "a split of a reader that leaves holds the group",
        "enumerator/work.py",
        "last=subtask, watermark=stood), id)",
        "last=subtask), id)",
        ARRIVALS,
    ),
    Break(
        "a reader that has finished waits for nothing",
        "group/reader.py",
        "if reader.arriving is None or (reported is not None and reported.finished):",
        "if reader.arriving is None:",
        ARRIVALS,
    ),
    Break(
        "no split is looked for among all readers",
        "enumerator/claims.py",
        "    holder = work.holder(id)\n    if holder",
        "    holder = next((other for other in work.readers if id in work.held(other)), None)\n    if holder",
        LARGE,
    ),
    Break(
        "what is on its way to a reader is copied once in an exchange",
        "enumerator/work.py",
        "            del self._opened_arriving(reader)[id]\n",
        "            self.keep_arriving(reader, self.arriving(reader).keys() - {id})\n",
        LARGE,
    ),
    Break(
        "the missing splits are not looked through for each reader",
        "enumerator/assigning.py",
        "len(missing.intersection(held))",
        "len(held.keys() & missing)",
        LARGE,
    ),
    Break(
        "an exchange of thousands of splits has pauses",
        "enumerator/exchange.py",
        "    yield from for_each(event.given_back, lambda each: give_back(work, reader, each))\n",
        "    for each in event.given_back:\n        give_back(work, reader, each)\n",
        LARGE,
    ),
)
