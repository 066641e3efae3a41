"""Rules of the Python reader: its lease, what it holds, what it reports, how far it reads."""

from functools import partial

from rule_breaks.breaking import Break

Reader = partial(Break, package="lockgate_reader")

LEASE = ("test_split_lease.py",)
HOLDINGS = ("test_split_holdings.py",)
STANDING = ("test_reader_standing.py",)
CEILING = ("test_reader_ceiling.py",)
GROUP = ("test_readers_and_a_coordinator.py",)
BEGINS = ("test_where_a_reader_begins.py",)
PIECES = ("test_piece_rules.py",)
NEWS = ("test_unheeded_news.py",)
COMMITS = ("test_commit_rules.py",)
FAILS = ("test_what_fails.py",)
MODES = ("test_modes.py",)
LOST = ("test_lost_positions.py",)
DROPPED = ("test_dropped_readers.py",)
NEXT = ("test_next_record_rules.py",)

LEASES: tuple[Break, ...] = (
    Reader(
        "a reader's lease is shorter than the coordinator's by what clocks differ",
        "group/fencing.py",
        "lease_ms / 1000 * (1 - self.rate_error)",
        "lease_ms / 1000",
        LEASE,
    ),
    Reader(
        "a reader's lease is counted from when the exchange was sent",
        "group/fencing.py",
        "return SplitLease(sent_at + lease_ms",
        "return SplitLease(now + lease_ms",
        LEASE,
    ),
    Reader(
        "a lease that is over begins again only by what was sent since",
        "group/fencing.py",
        "not (settled and sent_at >= self.until)",
        "not settled",
        LEASE,
    ),
    Reader(
        "a coordinator that waits for survivors begins no lease again",
        "group/fencing.py",
        "not (settled and sent_at >= self.until)",
        "not sent_at >= self.until",
        LEASE,
    ),
    Reader(
        "the exchange that was sent last rules the lease",
        "group/fencing.py",
        "if sent_at < self.sent_at or (",
        "if (",
        LEASE,
    ),
)

HOLDING: tuple[Break, ...] = (
    Reader(
        "a split that an answer stops is dropped",
        "group/holdings.py",
        "del kept[stopped.split]",
        "pass",
        HOLDINGS,
    ),
    Reader(
        "what is said of an older assignment is not this reader's",
        "group/holdings.py",
        "return own is not None and own.number == held.number",
        "return own is not None",
        HOLDINGS,
    ),
    Reader(
        "a split that is to go before it was opened is given back",
        "group/holdings.py",
        "given_back=(*_on_the_wire(self.returning(said)), *self._unopened()),",
        "given_back=_on_the_wire(self.returning(said)),",
        HOLDINGS,
    ),
    Reader(
        "a list of splits goes under the number of its request",
        "group/holdings.py",
        "request=self._request)",
        "request=1)",
        HOLDINGS,
    ),
    Reader(
        "what a reader has seen is the revision of the last answer",
        "group/holdings.py",
        "self._seen = answer.revision",
        "self._seen = max(answer.revision, self._seen or 0)",
        HOLDINGS,
    ),
    Reader(
        "a split at the latest record waits until its offset is known",
        "group/holdings.py",
        "if each.split.starting_offset == LATEST_OFFSET)",
        "if each.number < 0)",
        HOLDINGS,
    ),
    Reader(
        "a position that its program went back to is a restored one",
        "group/holdings.py",
        "return 0 <= held.split.starting_offset < own.split.starting_offset",
        "return False",
        HOLDINGS,
    ),
    Reader(
        "a source event comes once",
        "group/holdings.py",
        "if event.number > self._events_seen:",
        "if event.number > 0:",
        HOLDINGS,
    ),
    Reader(
        "a source event is sent until it was answered",
        "group/holdings.py",
        "self._outgoing = [event for event in self._outgoing if event.id not in taken]",
        "self._outgoing = []",
        HOLDINGS,
    ),
)

REPORTING: tuple[Break, ...] = (
    Reader(
        "a reader is where its lowest split is",
        "group/standing.py",
        "lowest = min(shown)",
        "lowest = max(shown)",
        STANDING,
    ),
    Reader(
        "a split is reported until the coordinator has taken it back",
        "group/standing.py",
        "for each in returning}",
        "for each in ()}",
        STANDING,
    ),
    Reader(
        "a reader that has not seen all its splits offers no reach",
        "group/standing.py",
        "offers = joint and len(shown) == len(holding) and",
        "offers = joint and",
        STANDING,
    ),
    Reader(
        "a split behind a gap is where its next record is",
        "group/standing.py",
        "max(split.watermark, add(split.next_time, -1 - disorder))",
        "split.watermark",
        STANDING,
    ),
    Reader(
        "nothing goes out before the first watermark",
        "reading/ceiling.py",
        "found = add(watermark, max_drift_ms)",
        "found = add(max(watermark, 0), max_drift_ms)",
        CEILING,
    ),
    Reader(
        "where there is something to read, something may be read",
        "reading/ceiling.py",
        "return max(found, lowest_kept_back)",
        "return found",
        CEILING,
    ),
)

LIFE: tuple[Break, ...] = (
    Reader(
        "what was called back does not go out",
        "reading/pieces.py",
        "self._messages.clear()",
        "pass",
        PIECES,
    ),
    Reader(
        "no record goes out at the deadline",
        "reading/pieces.py",
        "if now_s() >= until:",
        "if now_s() > until:",
        PIECES,
    ),
    Reader(
        "news that come while an exchange is under way are a reason for another one",
        "group/news.py",
        "self._heeded = mark",
        "self._heeded = self._others",
        NEWS,
    ),
    Reader(
        "a reader that leaves gives its splits back",
        "group/joined.py",
        "        self._say_farewell(said)\n",
        "",
        GROUP,
    ),
    Reader(
        "a batch on which the program failed has not gone out",
        "reading/holding.py",
        "            split.position = position\n",
        "            pass\n",
        GROUP,
    ),
    Reader(
        "a partition without a record from then on begins at its end",
        "kafka/client.py",
        "offset if offset >= 0 else ends[key]",
        "max(offset, 0)",
        BEGINS,
    ),
)

FAILING: tuple[Break, ...] = (
    Reader(
        "a consumer whose last commit fails leaves its place",
        "consumer.py",
        """                finally:  # else the splits would be this consumer's for ever
                    reading.close()""",
        """                except ZeroDivisionError:
                    pass
                reading.close()""",
        FAILS,
    ),
    Reader(
        "an error of a fetch ends the consumer",
        "reading/reading.py",
        "            self.failure = error\n",
        "            pass\n",
        FAILS,
    ),
    Reader(
        "a batch that is ready after the lease is not handed out",
        "consumer.py",
        "if reading.lapsed:",
        "if False:",
        FAILS,
    ),
    Reader(
        "positions of a split that another reader has are not committed",
        "reading/holding.py",
        "                del self.last_positions[split.key]\n",
        "",
        FAILS,
    ),
    Reader(
        "nothing is kept of a split that went",
        "reading/next_record.py",
        "self._made[-count:], []",
        "self._made[-count:], self._made",
        FAILS,
    ),
    Reader(
        "a commit that failed is known",
        "kafka/client.py",
        "        self._not_committed.update(failed)\n",
        "",
        FAILS,
    ),
    Reader(
        "a commit that failed is made again",
        "reading/commits.py",
        "self._committed.pop(key, None)",
        "pass",
        COMMITS,
    ),
    Reader(
        "what is given on is committed before",
        "reading/commits.py",
        "return changed or ",
        "return ",
        COMMITS,
    ),
    Reader(
        "the first list of partitions is whole",
        "reading/holding.py",
        "led=self._discovered is not None",
        "led=True",
        FAILS,
    ),
    Reader(
        "a later list that does not come ends no reader",
        "reading/holding.py",
        "if self._discovered is None:",
        "if True:",
        FAILS,
    ),
    Reader(
        "a snapshot has the splits that were read to their end",
        "reading/reading.py",
        "[*splits, *self.holding.read_out.values()]",
        "splits",
        MODES,
    ),
)

LOSING: tuple[Break, ...] = (
    Reader(
        "a consumer that was dropped leaves its group",
        "group/joined.py",
        "        self._abandoned = True\n",
        "        pass\n",
        DROPPED,
    ),
    Reader(
        "a split that has shown no event time is waited for until it is read",
        "reading/next_record.py",
        "(self._let_go or silent))",
        "True)",
        NEXT,
    ),
    Reader(
        "an event time ends the idleness of a split that had none",
        "reading/next_record.py",
        "unstamped and self._only_unstamped is not False",
        "unstamped or bool(self._only_unstamped)",
        NEXT,
    ),
    Reader(
        "a topic that was made anew is known by its id",
        "reading/topic_ids.py",
        "if self._ids.setdefault(topic, found) != found:",
        "if False:",
        LOST,
    ),
    Reader(
        "a topic without an id is not taken for another one",
        "kafka/client.py",
        "return str(found) if known else None",
        "return str(found)",
        LOST,
    ),
    Reader(
        "a split of a topic made anew begins at its first record",
        "reading/split.py",
        "        self.position = start\n        self.fetched.clear()\n",
        "        self.fetched.clear()\n",
        LOST,
    ),
    Reader(
        "the coordinator gets a position that went back",
        "group/holdings.py",
        "restored=each.went_back",
        "restored=False",
        LOST,
    ),
    Reader(
        "a bounded reader that begins behind the end of the log has not ended",
        "reading/holding.py",
        "if done.name not in lost:",
        "if True:",
        LOST,
    ),
)

READING = (*LEASES, *HOLDING, *REPORTING, *LIFE, *FAILING, *LOSING)
