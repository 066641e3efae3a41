"""Rules of an operator's acts, of the journal and of the samples."""

from functools import partial

from rule_breaks.breaking import Break

_Service = partial(Break, package="lockgate_coordinator")

PAUSES = ("test_source_pauses.py",)

OPERATORS: tuple[Break, ...] = (
    Break(
        "a paused source offers nothing with its next reports",
        "group/reporting.py",
        "if event.reach is not None and group.paused_sources and group.pause_of(source) is not None:",
        "if False:",
        PAUSES,
    ),
    Break(
        "a pause takes back what the source has offered",
        "group/source_pauses.py",
        "        readers=group.readers.updated(changed),\n",
        "",
        PAUSES,
    ),
    Break(
        "a pause of a paused source changes nothing",
        "group/source_pauses.py",
        "    if group.pause_of(source) is not None:\n        return group\n",
        "",
        PAUSES,
    ),
    Break(
        "to resume is news",
        "group/source_pauses.py",
        "return replace(group, paused_sources=others, revision=tick(group.revision, now_ms))",
        "return replace(group, paused_sources=others)",
        PAUSES,
    ),
    _Service(
        "a journal goes with its group",
        "store/memory.py",
        "        self._journals.pop(loaded.name, None)\n",
        "",
        ("test_group_journal.py",),
    ),
    _Service(
        "an entry of the journal has a bound",
        "telemetry/kept_changes.py",
        "if len(text) <= ENTRY_SIZE:",
        "if True:",
        ("test_kept_changes.py",),
    ),
    _Service(
        "entries wait while the store is away",
        "telemetry/kept_changes.py",
        "self._waiting[name] = entries + self._waiting.get(name, [])",
        "self._waiting.pop(name, None)",
        ("test_kept_changes.py",),
    ),
    _Service(
        "a group is sampled every ten seconds at most",
        "store/memory.py",
        "if not level or now_ms - level[-1][0] >= step_ms:",
        "if True:",
        ("test_sampler.py", "test_contract.py"),
    ),
    _Service(
        "a wait that is not long is no change",
        "telemetry/changes.py",
        "if goes_on and not was_long and new.heard_at - since >= HOLD_MS:",
        "if goes_on and not was_long:",
        ("test_changes.py",),
    ),
)
