"""The rules that `lockgate verify` checks on a recorded history.

    acknowledged   no report or position that was answered is lost
    read limit     no announced limit is above what the reports allow, and no row that is read is
                   above the limit that its reader received
    fenced         no older epoch changes a group, and no older owner reads a partition
    heard          each live reader receives each new limit within two update intervals
    rows           rows are read once: ranges of offsets neither overlap nor leave holes

The rules are written from docs/internals/protocol.md alone, and use none of the code that they
check. An announced limit may be lower than the model's, but not higher. During an outage, readers
may receive new limits later. A loss of stored data that a coordinator noticed is a notice, not a
violation.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from lockgate_cli.verify.lines import MAX, MIN, Entry, Interval, Stalls, Verdict, instant
from lockgate_cli.verify.model import Model, Report
from lockgate_cli.verify.rows import judge_expected, judge_plans, judge_rows

RULES = ("acknowledged", "read limit", "fenced", "heard", "rows")

ANSWER_MS = 5_000
"""How long (ms) after a turn the answers to its commands may arrive."""

TRIP_MS = 20
"""How long (ms) a request and its answer may take besides the two intervals in which a client
receives a new limit.
"""

SKEW_MS = 1_000
"""How far apart (ms) the clocks of two machines may be when an answer is matched with a turn."""


def verify(entries: Iterable[Entry], *, gaps: bool = False) -> Verdict:
    """Return the verdict on the lines of a history. With `gaps`, offsets may be missing within what
    one reader reads, as in compacted topics and in topics with transactions.
    """
    verdict = Verdict()
    groups, stalls, limping = defaultdict[str, list[Entry]](list), defaultdict[str, list[Interval]](list), set[str]()
    for each in entries:
        verdict.counts["lines"] += 1
        if each.body["k"] == "stalled":
            stalls[each.file].append(Interval(each.body["since"], each.body["t"]))
        elif each.body["k"] == "gap":
            limping.add(each.file)
        else:
            groups[each.body["group"]].append(each)
    verdict.notices += [f"{file} has a gap: its rows are not judged" for file in sorted(limping)]
    for name, lines in sorted(groups.items()):
        verdict.counts["groups"] += 1
        lines.sort(key=lambda entry: entry.body["t"])
        model = Model(name, verdict)
        for turn in _in_order([each for each in lines if each.body["k"] == "turn"]):
            model.take(turn)
        _judge_acknowledged(lines, model)
        _judge_clients(lines, model, stalls)
        judge_rows([each for each in lines if each.file not in limping], model, stalls, gaps)
        judge_plans([each for each in lines if each.file not in limping], verdict)
        judge_expected(lines, verdict)
    return verdict


def _in_order(turns: Sequence[Entry]) -> Iterator[Entry]:
    """Return the turns in the order in which the store carried them out. Versions may fall if the
    store loses data while its clock is put back. So turns that continue each other stay together,
    and turns stored after a loss follow it.
    """
    losses = sorted(each.body["t"] for each in turns if each.body["new"] or each.body["lost"])
    runs, ends = list[list[Entry]](), defaultdict[int, list[list[Entry]]](list)
    for turn in sorted(turns, key=lambda each: each.body["version"]):
        continued = ends[turn.body["was"]]
        if continued and not turn.body["new"] and not turn.body["lost"]:
            run = min(continued, key=lambda run: abs(run[-1].body["t"] - turn.body["t"]))
            continued.remove(run)
        else:
            runs.append(run := [])
        run.append(turn)
        ends[turn.body["version"]].append(run)
    runs.sort(key=lambda run: (bisect_right(losses, run[0].body["t"]), run[0].body["version"]))
    return chain.from_iterable(runs)


def _judge_acknowledged(lines: Sequence[Entry], model: Model) -> None:
    """Check that each report for which a client received an answer was accepted by a turn. Equal
    reports must be accepted as often as they were answered.
    """
    if not model.announced:
        return
    answered, since = Counter[Report](), dict[Report, float]()
    for each in lines:
        for source, subtask, epoch, watermark in each.body.get("taken", ()):
            model.verdict.counts["answers"] += 1
            report, t = (source, subtask, epoch, watermark), each.body["t"]
            answered[report] += 1
            first = since.setdefault(report, t)
            unseen = t < model.announced[0][0] or any(a <= t and first <= b + ANSWER_MS for a, b in model.unseen)
            if answered[report] > bisect_right(model.reports[report], t + SKEW_MS) and not unseen:
                text = f"its report of {instant(watermark)} in epoch {epoch} was answered, and no turn has it"
                model.verdict.breach("acknowledged", each, f"{source}/{subtask}", text)


def _judge_clients(lines: Sequence[Entry], model: Model, stalls: Stalls) -> None:
    """Check that each client received the announced read limits in time, used no limit above those
    received, and read no row above the limit in use.
    """
    files = defaultdict[str, list[Entry]](list)
    for each in lines:
        if each.body["k"] not in ("turn", "deleted", "expect"):
            files[each.file].append(each)
    for file, own in files.items():
        heard = [each for each in own if "revision" in each.body]
        if not heard:
            continue
        model.verdict.counts["clients"] += 1
        outages = [*stalls.get(file, ()), *_silences(own, heard)]
        for each in heard:
            model.verdict.counts["notices heard"] += 1
            limits = model.limits.get(each.body["revision"])
            if limits and each.body["read_limit"] not in limits:
                text = f"it heard {instant(each.body['read_limit'])}, expected {instant(max(limits))}"
                model.verdict.breach("read limit", each, file, text)
        _judge_hearing(own, heard, outages, model)
        times, highest, most = [each.body["t"] for each in heard], list[int](), MIN
        for each in heard:
            most = max(most, each.body["read_limit"])
            highest.append(most)
        for each in own:
            if each.body["k"] not in ("rows", "plan"):
                continue
            limit, place = each.body["read_limit"], bisect_right(times, each.body["t"])
            known = highest[place - 1] if place else MIN
            alone = limit == MAX and any(a <= each.body["t"] <= b for a, b in outages)  # on_outage="proceed"
            if limit > known and not alone:
                text = f"it went by {instant(limit)}, expected {instant(known)} at most"
                model.verdict.breach("read limit", each, each.body["source"], text)
            elif each.body.get("latest", each.body.get("target", MIN)) > limit:
                model.verdict.breach("read limit", each, each.body["source"], f"it read rows above {instant(limit)}")


def _silences(own: Sequence[Entry], heard: Sequence[Entry]) -> list[Interval]:
    """Return a client's outages, each from the last answer before a failed call to the next answer.
    `own` contains all lines of the client, and `heard` those of its answers.
    """
    times = [each.body["t"] for each in heard]
    found = set[Interval]()
    for each in own:
        if each.body["k"] == "unreachable":
            place = bisect_right(times, each.body["t"])
            found.add(Interval(times[place - 1] if place else MIN, times[place] if place < len(times) else MAX))
    return sorted(found)


def _judge_hearing(own: Sequence[Entry], heard: Sequence[Entry], outages: Sequence[Interval], model: Model) -> None:
    times, revisions, most = [each.body["t"] for each in heard], list[int](), 0
    for each in heard:
        most = max(most, each.body["revision"])
        revisions.append(most)
    for t, revision, turn, interval in model.announced:
        if t < times[0]:
            continue
        within = 2 * interval + TRIP_MS
        by = t + within
        for since, until in sorted(outages):
            if since <= by and until >= t:
                by = max(by, until + within)
        if any(since <= by and until >= t for since, until in (*model.losses, *model.unseen)):
            continue  # the store may have lost this one, and the turn after the loss announces another one
        place = bisect_left(revisions, revision)
        at = times[place] if place < len(times) else MAX
        if at > by and own[-1].body["t"] > by:
            entry = heard[place] if place < len(heard) else own[-1]
            after = "never" if at == MAX else f"{at - t} ms after"
            text = f"it heard revision {revision} ({turn.file}:{turn.line}) {after}, expected {by - t} ms at most"
            model.verdict.breach("heard", entry, entry.file, text)
