"""Rules of an operator's work: acts that take effect once, restored configurations, audit lines,
exports and imports.
"""

from functools import partial

from rule_breaks.breaking import Break

_Core = partial(Break, package="lockgate")
_Break = partial(Break, package="lockgate_coordinator")
_Cli = partial(Break, package="lockgate_cli")
_Http = partial(Break, package="lockgate_http")

LOST = ("test_lost_answers.py",)
RESTORED = ("test_restored_configuration.py",)
AUDIT = ("test_audit.py",)
TRANSFER = ("test_transfer.py",)
HOSTILE_TEXTS = ("test_hostile_texts.py",)

OPERATING: tuple[Break, ...] = (
    Break(
        "a configuration whose answer was lost is no conflict with itself",
        "group/turn.py",
        "return group, Configured(known.config_version, known.created)",
        "return self._first(command, group)",
        LOST,
    ),
    Break(
        "a reader whose leaving was not answered has left",
        "group/turn.py",
        "return group, Done(repeated=True)",
        "return self._first(command, group)",
        LOST,
    ),
    _Break(
        "a deletion whose answer was lost is done",
        "store/scripts/discard.lua",
        "if act == ARGV[3] then",
        "if false then",
        (*LOST, "test_contract.py"),
    ),
    _Break(
        "a key that is used for another request is another act",
        "api/parts.py",
        "repr((key, *what))",
        "repr((key,))",
        LOST,
    ),
    _Break(
        "a connection that Redis has reset is no fault of the service",
        "store/connections.py",
        'if "closed" not in str(error):',
        "if True:",
        LOST,
    ),
    _Core(
        "a reader restores a configuration in a new group alone",
        "group/group.py",
        "if config is None or configured_at is None or now_ms >= group.grace_until:",
        "if config is None or configured_at is None:",
        RESTORED,
    ),
    _Core(
        "a reader does not undo what an operator sets",
        "group/group.py",
        "if not group.configured_at < configured_at <= group.created_at:",
        "if not group.configured_at < configured_at:",
        RESTORED,
    ),
    _Core(
        "the newest configuration that a reader knows wins",
        "group/group.py",
        "if not group.configured_at < configured_at <= group.created_at:",
        "if not configured_at <= group.created_at:",
        RESTORED,
    ),
    _Break(
        "a refused act has its audit line",
        "api/audit.py",
        '        _log.warning("%s refused", act, extra={"fields": {**fields, "outcome": outcome}})\n',
        "",
        AUDIT,
    ),
    _Break(
        "no log level ends the audit",
        "telemetry/logs.py",
        "    logging.getLogger(AUDIT).setLevel(logging.INFO)",
        "    logging.getLogger(AUDIT)",
        AUDIT,
    ),
    _Cli(
        "an import overwrites nothing unless it is told to",
        "transfer.py",
        "if there and not replace:",
        "if False:",
        TRANSFER,
    ),
    _Cli(
        "a request whose connection broke is made again",
        "client.py",
        "ATTEMPTS = 3",
        "ATTEMPTS = 1",
        TRANSFER,
    ),
    _Http(
        "a watched group's outage behind a proxy may pass",
        "calls/answers.py",
        "PASSING = (429, 502, 503, 504)",
        "PASSING = (503,)",
        ("test_watching.py",),
    ),
    _Cli(
        "an outage does not end a watched group",
        "watching.py",
        "PASSING = (Unreachable, NotFound)",
        "PASSING = (NotFound,)",
        ("test_watching.py",),
    ),
    _Cli(
        "a watched group that is gone may come back",
        "watching.py",
        "PASSING = (Unreachable, NotFound)",
        "PASSING = (Unreachable,)",
        ("test_watching.py",),
    ),
    _Core(
        "a step of a path is no name",
        "wire/fields.py",
        'NAME = re.compile(rf"(?=.{{1,255}}\\Z){NAME_PATTERN}\\Z")',
        'NAME = re.compile(r"[A-Za-z0-9._:-]{1,255}\\Z")',
        ("test_name_rule.py",),
    ),
    _Break(
        "a step of a path is no name in the path of a request",
        "api/schemas.py",
        'NAME_FORM = f"^{NAME_PATTERN}$"',
        'NAME_FORM = "^[A-Za-z0-9._:-]+$"',
        ("test_groups.py",),
    ),
    _Break(
        "the routes of reports judge names as the others do",
        "api/reports.py",
        "if path is None or not NAME.match(path[1]) or not (path[2] is None or NAME.match(path[2])):",
        "if path is None:",
        ("test_groups.py",),
    ),
    _Cli(
        "an odd name does not stop an export",
        "transfer.py",
        "if not NAME.match(name):",
        "if False:",
        TRANSFER,
    ),
    _Core(
        "text of others has no character that steers a terminal",
        "printable.py",
        "if text.isprintable():",
        "if True:",
        HOSTILE_TEXTS,
    ),
    _Core(
        "a logged record has no character that steers a terminal",
        "printable.py",
        "if not message.isprintable():",
        "if False:",
        ("test_printable.py",),
    ),
    _Cli(
        "a command's line has no character that steers a terminal",
        "output.py",
        "typer.echo(printable(line), err=err)",
        "typer.echo(line, err=err)",
        HOSTILE_TEXTS,
    ),
    _Cli(
        "a command's table has no character that steers a terminal",
        "output.py",
        "super().render_str(printable(text), **options)",
        "super().render_str(text, **options)",
        HOSTILE_TEXTS,
    ),
    _Cli(
        "a sentence above a table has no character that steers a terminal",
        "output.py",
        "if isinstance(renderable, Text) and not renderable.plain.isprintable():",
        "if False:",
        HOSTILE_TEXTS,
    ),
    _Cli(
        "an owner's brackets are no markup",
        "output.py",
        "markup=False",
        "markup=True",
        HOSTILE_TEXTS,
    ),
    _Cli(
        "SIGTERM leaves the terminal of a watched group as it was",
        "watching.py",
        "    before = signal.signal(signal.SIGTERM, interrupt)",
        "    before = signal.getsignal(signal.SIGTERM)",
        ("test_watching.py",),
    ),
)
