"""The command `lockgate`."""

import ipaddress
import logging
import os
from pathlib import Path
from typing import Annotated

import typer

from lockgate.group.expiry import Expiry
from lockgate.wire.events import NAME, NAME_RULE
from lockgate_coordinator import __version__
from lockgate_coordinator.access.keyring import VARIABLE
from lockgate_coordinator.access.token_file import valid_groups
from lockgate_coordinator.access.tokens import ROLES, InvalidTokens, Token, digest_of, new_token, stanza
from lockgate_coordinator.limits import Limits
from lockgate_coordinator.operate import acts, advising, commands, looks, transfer
from lockgate_coordinator.operate.output import say, say_lines
from lockgate_coordinator.settings import MAX_SUBSCRIBERS, Settings
from lockgate_coordinator.telemetry import logs
from lockgate_coordinator.tls import PASSWORD_VARIABLE, InvalidTls, Tls

log = logging.getLogger("lockgate")

LIMITS = Limits()
WEEK_H = 168.0

cli = typer.Typer(
    help="lockgate: splits that run ahead in event time wait until the ones behind catch up.",
    no_args_is_help=True,
    rich_markup_mode="markdown",  # a docstring's lines are joined
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"lockgate {__version__}")
        raise typer.Exit


@cli.callback()
def _lockgate(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version, and end.")
    ] = False,
) -> None: ...


Host = Annotated[str, typer.Option(envvar="LOCKGATE_HOST", help="The address to listen on.")]
Port = Annotated[
    int, typer.Option(envvar="LOCKGATE_PORT", min=0, max=65535, help="The port to listen on; 0 takes a free one.")
]
StoreAddress = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="LOCKGATE_STORE",
        show_envvar=True,
        help=(
            "Where groups are kept: memory:// (one coordinator; its readers build it again) or "
            "redis://HOST:PORT/DB (any number)."
        ),
    ),
]
Unauthenticated = Annotated[
    bool,
    typer.Option(
        "--allow-unauthenticated",
        envvar="LOCKGATE_ALLOW_UNAUTHENTICATED",
        help=(
            "Listen on other than loopback addresses without tokens, though everyone who reaches the port may read "
            "and steer every group."
        ),
    ),
]
TokensFile = Annotated[
    Path | None,
    typer.Option(
        "--tokens",
        envvar="LOCKGATE_TOKENS_FILE",
        help="A TOML file of tokens, as `lockgate token` writes; read again when it changes.",
    ),
]
AllowedHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-host",
        envvar="LOCKGATE_ALLOWED_HOSTS",
        help=(
            "Without tokens: a name by which clients may call this service; may be repeated, * is any. Addresses, "
            "names without a dot and names in .local, .internal and .svc are allowed anyway."
        ),
    ),
]
RateLimit = Annotated[
    int | None,
    typer.Option(
        envvar="LOCKGATE_RATE_LIMIT",
        min=1,
        help="Requests a second of each token, twice as many at once. [default: no limit]",
    ),
]
MaxSubscribers = Annotated[
    int, typer.Option(envvar="LOCKGATE_MAX_SUBSCRIBERS", min=0, help="Event streams and long polls at the same time.")
]
MaxSplits = Annotated[int, typer.Option(envvar="LOCKGATE_MAX_SPLITS", min=1, help="Splits of a reader.")]
MaxReaders = Annotated[int, typer.Option(envvar="LOCKGATE_MAX_READERS", min=1, help="Readers of a group.")]
MaxSources = Annotated[
    int, typer.Option(envvar="LOCKGATE_MAX_SOURCES", min=1, help="Sources of a group, and how many it may expect.")
]
MaxGroups = Annotated[int, typer.Option(envvar="LOCKGATE_MAX_GROUPS", min=1, help="Groups in the store.")]
MaxAttributes = Annotated[
    int, typer.Option(envvar="LOCKGATE_MAX_ATTRIBUTES", min=0, help="Bytes of a reader's owner and attributes.")
]
ExpireReaders = Annotated[
    float,
    typer.Option(
        envvar="LOCKGATE_EXPIRE_READERS",
        min=0,
        metavar="HOURS",
        help="Forget lost and finished readers of a living group after so long; 0: never.",
    ),
]
ExpireGroups = Annotated[
    float,
    typer.Option(
        envvar="LOCKGATE_EXPIRE_GROUPS",
        min=0,
        metavar="HOURS",
        help="Delete groups that nobody has configured and whose readers are all dead after so long; 0: never.",
    ),
]
Certificate = Annotated[
    Path | None,
    typer.Option(
        "--ssl-certfile", envvar="LOCKGATE_SSL_CERTFILE", help="Listen on https, with this certificate (PEM)."
    ),
]
Key = Annotated[
    Path | None,
    typer.Option(
        "--ssl-keyfile",
        envvar="LOCKGATE_SSL_KEYFILE",
        help=f"The certificate's key, if it is in a file of its own; {PASSWORD_VARIABLE} has its password.",
    ),
]
Authorities = Annotated[
    Path | None,
    typer.Option(
        "--ssl-ca-certs",
        envvar="LOCKGATE_SSL_CA_CERTS",
        help="Take only callers with a certificate that one of these has signed.",
    ),
]
ProbePort = Annotated[
    int | None,
    typer.Option(
        "--probe-port",
        envvar="LOCKGATE_PROBE_PORT",
        min=1,
        max=65535,
        help="Answer GET /livez and /readyz at this port too, in plain http, for probes that have no certificate.",
    ),
]
LogFormat = Annotated[logs.LogFormat, typer.Option(envvar="LOCKGATE_LOG_FORMAT", help="The form of a log line.")]
LogLevel = Annotated[logs.LogLevel, typer.Option(envvar="LOCKGATE_LOG_LEVEL", help="The lowest level that is logged.")]
SplitMetrics = Annotated[
    bool,
    typer.Option(
        "--split-metrics",
        envvar="LOCKGATE_SPLIT_METRICS",
        help="Three series for each split at /metrics, of 10,000 splits at most.",
    ),
]
Dashboard = Annotated[
    bool,
    typer.Option(
        "--dashboard/--no-dashboard",
        envvar="LOCKGATE_DASHBOARD",
        help="Serve the page for browsers at /, which shows what the token that is typed into it may read.",
    ),
]


@cli.command("serve")
def serve_command(
    host: Host = "127.0.0.1",
    port: Port = 8080,
    store: StoreAddress = "memory://",
    tokens: TokensFile = None,
    allow_unauthenticated: Unauthenticated = False,
    allowed_host: AllowedHosts = None,
    rate_limit: RateLimit = None,
    max_subscribers: MaxSubscribers = MAX_SUBSCRIBERS,
    max_splits: MaxSplits = LIMITS.splits,
    max_readers: MaxReaders = LIMITS.readers,
    max_sources: MaxSources = LIMITS.sources,
    max_groups: MaxGroups = LIMITS.groups,
    max_attributes: MaxAttributes = LIMITS.attributes,
    expire_readers: ExpireReaders = WEEK_H,
    expire_groups: ExpireGroups = WEEK_H,
    ssl_certfile: Certificate = None,
    ssl_keyfile: Key = None,
    ssl_ca_certs: Authorities = None,
    probe_port: ProbePort = None,
    log_format: LogFormat = logs.LogFormat.TEXT,
    log_level: LogLevel = logs.LogLevel.INFO,
    split_metrics: SplitMetrics = False,
    dashboard: Dashboard = True,
) -> None:
    """Run a coordinator.

    It logs one line, "lockgate listens on http://…", when it accepts requests, and ends within 5
    seconds of SIGTERM or Ctrl-C. LOCKGATE_TOKENS can hold tokens as well, as
    ROLE=TOKEN,ROLE=TOKEN.
    """
    logs.install(log_format, log_level)
    limits = Limits(max_splits, max_readers, max_sources, max_groups, max_attributes)
    settings = Settings(
        tokens_file=tokens,
        tokens=os.environ.get(VARIABLE, ""),
        rate_limit=rate_limit,
        max_subscribers=max_subscribers,
        split_metrics=split_metrics,
        allowed_hosts=(*(allowed_host or ()), host),
        limits=limits,
        expiry=Expiry(_ms(expire_readers), _ms(expire_groups)),
        dashboard=dashboard,
    )
    tls = _tls(ssl_certfile, ssl_keyfile, ssl_ca_certs)
    _check(settings, host, allow_unauthenticated=allow_unauthenticated)
    if settings.guarded and tls is None and not _is_loopback(host):
        log.warning(
            (
                "tokens come in over plain http at %s, where others on the network can read them: set --ssl-certfile, "
                "or put TLS before it"
            ),
            host,
        )
    # The web framework takes most of a second to import, and no other command needs it.
    from lockgate_coordinator.server import ListenError, run, serve
    from lockgate_coordinator.store import InvalidStoreAddress, StoreUnavailable, open_store

    try:
        run(serve(host, port, open_store(store), settings, tls, probe_port))
    except StoreUnavailable as error:
        raise _fault(f"{error}; does it run, and is --store right?") from error
    except (InvalidStoreAddress, InvalidTokens, InvalidTls, ListenError) as error:
        raise _fault(str(error)) from error


@cli.command("token")
def token_command(
    name: Annotated[str, typer.Argument(help="The token's name, which refusals quote.")],
    role: Annotated[str, typer.Option(help=f"One of {', '.join(ROLES)}.")],
    group: Annotated[
        list[str] | None,
        typer.Option(help="A group that the token may touch, or the beginning of names and *; may be repeated."),
    ] = None,
) -> None:
    """Make a token. Its entry for the file of `serve --tokens` goes to standard output, the token
    itself, only this once, to standard error.
    """
    if not NAME.match(name):
        raise _fault(f"NAME {NAME_RULE}")
    if role not in ROLES:
        raise _fault(f"--role must be one of {', '.join(ROLES)}")
    if not valid_groups(group or ()):
        raise _fault("--group must be a group's name (A-Z a-z 0-9 . _ : -), or the beginning of names and *")
    token = new_token()
    say(f"the token of {name}, which is kept nowhere: {token}", err=True)
    say_lines(stanza(Token(name, digest_of(token.encode()), ROLES[role], tuple(group) if group else None)) + "\n")


cli.command("groups")(commands.groups)
cli.command("describe")(commands.describe)
cli.command("watch")(commands.watch)
cli.command("check")(looks.check)
cli.command("journal")(looks.journal)
cli.command("advise")(advising.advise)
cli.command("simulate")(advising.simulate)
cli.command("pause")(acts.pause)
cli.command("resume")(acts.resume)
cli.add_typer(acts.config, name="config")
cli.command("evict")(commands.evict)
cli.command("leave")(commands.leave)
cli.command("forget")(commands.forget)
cli.command("export")(transfer.export_command)
cli.command("import")(transfer.import_command)


def _check(settings: Settings, host: str, *, allow_unauthenticated: bool) -> None:
    if settings.guarded:
        return
    if not allow_unauthenticated and not _is_loopback(host):
        raise _fault(
            f"--host {host} can be reached by others, and there are no tokens: everyone who reaches it may steer "
            "every group. Give --tokens or "
            f"{VARIABLE}, listen on 127.0.0.1, or say --allow-unauthenticated if the network keeps strangers out"
        )
    if settings.rate_limit is not None:
        raise _fault(
            f"--rate-limit {settings.rate_limit} is for each token, and there are none: give --tokens or {VARIABLE}"
        )


def _tls(certfile: Path | None, keyfile: Path | None, ca_certs: Path | None) -> Tls | None:
    if certfile is not None:
        return Tls(certfile, keyfile, ca_certs, os.environ.get(PASSWORD_VARIABLE, ""))
    if keyfile is not None or ca_certs is not None:
        raise _fault("--ssl-keyfile and --ssl-ca-certs need --ssl-certfile, the certificate to listen with")
    return None


def _ms(hours: float) -> int | None:
    return max(1, int(hours * 3_600_000)) if hours else None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _fault(text: str) -> typer.Exit:
    say(f"lockgate: {text}", err=True)
    return typer.Exit(1)


def main() -> None:
    """The entry point of the command `lockgate`."""
    cli(prog_name="lockgate")


if __name__ == "__main__":
    main()
