"""The commands of the service: `serve` and `token`. The command `lockgate` loads them."""

import ipaddress
import logging
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from lockgate.group.expiry import Expiry
from lockgate.wire.events import NAME, NAME_RULE
from lockgate_cli.output import say, say_lines
from lockgate_coordinator.access.keyring import VARIABLE
from lockgate_coordinator.access.token_file import valid_groups
from lockgate_coordinator.access.tokens import ROLES, InvalidTokens, Token, digest_of, new_token, stanza
from lockgate_coordinator.limits import Limits
from lockgate_coordinator.settings import MAX_SUBSCRIBERS, Settings
from lockgate_coordinator.telemetry import logs
from lockgate_coordinator.tls import PASSWORD_VARIABLE, InvalidTls, Tls

log = logging.getLogger("lockgate")

LIMITS = Limits()
WEEK_H = 168.0

# The panels of `lockgate serve --help`.
LISTEN = "Listening and storage"
ACCESS = "Access"
LIMIT = "Limits and expiry"
TLS_PANEL = "TLS"
TELEMETRY = "Logs, metrics and dashboard"

commands = typer.Typer()


Host = Annotated[str, typer.Option(envvar="LOCKGATE_HOST", rich_help_panel=LISTEN, help="The address to listen on.")]
Port = Annotated[
    int,
    typer.Option(
        envvar="LOCKGATE_PORT",
        min=0,
        max=65535,
        rich_help_panel=LISTEN,
        help="The port to listen on; 0 takes a free one.",
    ),
]
StoreAddress = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="LOCKGATE_STORE",
        show_envvar=True,
        rich_help_panel=LISTEN,
        help=(
            "Where to keep groups: memory:// (one coordinator; after a restart the readers register again) or "
            "redis://HOST:PORT/DB (any number of coordinators)."
        ),
    ),
]
Unauthenticated = Annotated[
    bool,
    typer.Option(
        "--allow-unauthenticated",
        envvar="LOCKGATE_ALLOW_UNAUTHENTICATED",
        rich_help_panel=ACCESS,
        help=(
            "Listen on a non-loopback address without tokens. Everyone who reaches the port can then read and "
            "change every group."
        ),
    ),
]
TokensFile = Annotated[
    Path | None,
    typer.Option(
        "--tokens",
        envvar="LOCKGATE_TOKENS_FILE",
        rich_help_panel=ACCESS,
        help="A TOML file of tokens, made with `lockgate token`. It is reloaded when it changes.",
    ),
]
AllowedHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-host",
        envvar="LOCKGATE_ALLOWED_HOSTS",
        rich_help_panel=ACCESS,
        help=(
            "Without tokens: a host name that clients may use for this service; * allows all. Repeatable. IP "
            "addresses, names without a dot and names in .local, .internal and .svc are always allowed."
        ),
    ),
]
RateLimit = Annotated[
    int | None,
    typer.Option(
        envvar="LOCKGATE_RATE_LIMIT",
        min=1,
        rich_help_panel=ACCESS,
        help="Requests a second for each token, with bursts of twice as many. [default: no limit]",
    ),
]


def _limit(variable: str, least: int, text: str) -> Any:
    return typer.Option(envvar=f"LOCKGATE_{variable}", min=least, rich_help_panel=LIMIT, help=text)


MaxSubscribers = Annotated[
    int, _limit("MAX_SUBSCRIBERS", 0, "Limit on event streams and long polls open at the same time.")
]
MaxPartitions = Annotated[int, _limit("MAX_PARTITIONS", 1, "Limit on partitions per reader.")]
MaxReaders = Annotated[int, _limit("MAX_READERS", 1, "Limit on readers per group.")]
MaxSources = Annotated[int, _limit("MAX_SOURCES", 1, "Limit on sources per group, present or expected.")]
MaxGroups = Annotated[int, _limit("MAX_GROUPS", 1, "Limit on groups in the store.")]
MaxAttributes = Annotated[int, _limit("MAX_ATTRIBUTES", 0, "Limit on the bytes of a reader's owner and attributes.")]
ExpireReaders = Annotated[
    float,
    typer.Option(
        envvar="LOCKGATE_EXPIRE_READERS",
        min=0,
        metavar="HOURS",
        rich_help_panel=LIMIT,
        help="Remove a lost or finished reader after this time, if its group is in use. 0: never.",
    ),
]
ExpireGroups = Annotated[
    float,
    typer.Option(
        envvar="LOCKGATE_EXPIRE_GROUPS",
        min=0,
        metavar="HOURS",
        rich_help_panel=LIMIT,
        help="Delete a group that has no configuration of its own and no live readers after this time. 0: never.",
    ),
]
Certificate = Annotated[
    Path | None,
    typer.Option(
        "--ssl-certfile",
        envvar="LOCKGATE_SSL_CERTFILE",
        rich_help_panel=TLS_PANEL,
        help="Listen on https with this certificate (PEM).",
    ),
]
Key = Annotated[
    Path | None,
    typer.Option(
        "--ssl-keyfile",
        envvar="LOCKGATE_SSL_KEYFILE",
        rich_help_panel=TLS_PANEL,
        help=f"The certificate's private key, if it is in another file. Its password is read from {PASSWORD_VARIABLE}.",
    ),
]
Authorities = Annotated[
    Path | None,
    typer.Option(
        "--ssl-ca-certs",
        envvar="LOCKGATE_SSL_CA_CERTS",
        rich_help_panel=TLS_PANEL,
        help="Require client certificates signed by one of these authorities (PEM).",
    ),
]
ProbePort = Annotated[
    int | None,
    typer.Option(
        "--probe-port",
        envvar="LOCKGATE_PROBE_PORT",
        min=1,
        max=65535,
        rich_help_panel=LISTEN,
        help="Also serve /livez and /readyz on this port, in plain http, for probes without a certificate.",
    ),
]
LogFormat = Annotated[
    logs.LogFormat,
    typer.Option(envvar="LOCKGATE_LOG_FORMAT", rich_help_panel=TELEMETRY, help="The format of log lines."),
]
LogLevel = Annotated[
    logs.LogLevel,
    typer.Option(envvar="LOCKGATE_LOG_LEVEL", rich_help_panel=TELEMETRY, help="Log this level and above."),
]
PartitionMetrics = Annotated[
    bool,
    typer.Option(
        "--partition-metrics",
        envvar="LOCKGATE_PARTITION_METRICS",
        rich_help_panel=TELEMETRY,
        help="Add three series for each partition to /metrics, for at most 10,000 partitions.",
    ),
]
Dashboard = Annotated[
    bool,
    typer.Option(
        "--dashboard/--no-dashboard",
        envvar="LOCKGATE_DASHBOARD",
        rich_help_panel=TELEMETRY,
        help="Serve the dashboard at /. It shows the groups that the token entered there may read.",
    ),
]


@commands.command(
    "serve", epilog="Example: `lockgate serve --host 0.0.0.0 --store redis://redis:6379/0 --tokens tokens.toml`"
)
def serve_command(
    host: Host = "127.0.0.1",
    port: Port = 8080,
    store: StoreAddress = "memory://",
    tokens: TokensFile = None,
    allow_unauthenticated: Unauthenticated = False,
    allowed_host: AllowedHosts = None,
    rate_limit: RateLimit = None,
    max_subscribers: MaxSubscribers = MAX_SUBSCRIBERS,
    max_partitions: MaxPartitions = LIMITS.splits,
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
    partition_metrics: PartitionMetrics = False,
    dashboard: Dashboard = True,
) -> None:
    """Run a coordinator.

    It logs "lockgate listens on http://…" once it accepts requests, and stops within 5 seconds of
    SIGTERM or Ctrl-C. You can also give tokens in LOCKGATE_TOKENS, as ROLE=TOKEN,ROLE=TOKEN.
    """
    logs.install(log_format, log_level)
    limits = Limits(max_partitions, max_readers, max_sources, max_groups, max_attributes)
    settings = Settings(
        tokens_file=tokens,
        tokens=os.environ.get(VARIABLE, ""),
        rate_limit=rate_limit,
        max_subscribers=max_subscribers,
        split_metrics=partition_metrics,
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
                "tokens arrive over plain http at %s, where others on the network can read them: set "
                "--ssl-certfile, or put a TLS proxy in front"
            ),
            host,
        )
    # The web framework takes most of a second to import, and no other command needs it.
    from lockgate_coordinator.server import ListenError, run, serve
    from lockgate_coordinator.store import InvalidStoreAddress, StoreUnavailable, open_store

    try:
        run(serve(host, port, open_store(store), settings, tls, probe_port))
    except StoreUnavailable as error:
        raise _fault(f"{error}; check that it runs, and --store") from error
    except (InvalidStoreAddress, InvalidTokens, InvalidTls, ListenError) as error:
        raise _fault(str(error)) from error


@commands.command(
    "token", epilog="Example: `lockgate token checkout-job --role report --group 'checkout*' >> tokens.toml`"
)
def token_command(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The token's name, shown in the journal and in audit lines.")
    ],
    role: Annotated[str, typer.Option(help=f"One of {', '.join(ROLES)}.")],
    group: Annotated[
        list[str] | None,
        typer.Option(help="Allow only this group; a prefix followed by * allows several. Repeatable."),
    ] = None,
) -> None:
    """Make a token. Print its entry for the `serve --tokens` file to standard output, and the token
    itself to standard error, once.
    """
    if not NAME.match(name):
        raise _fault(f"NAME {NAME_RULE}")
    if role not in ROLES:
        raise _fault(f"--role must be one of {', '.join(ROLES)}")
    if not valid_groups(group or ()):
        raise _fault("--group must be a group's name (A-Z a-z 0-9 . _ : -), or a prefix followed by *")
    token = new_token()
    say(f"token of {name}, shown only now: {token}", err=True)
    say_lines(stanza(Token(name, digest_of(token.encode()), ROLES[role], tuple(group) if group else None)) + "\n")


def _check(settings: Settings, host: str, *, allow_unauthenticated: bool) -> None:
    if settings.guarded:
        return
    if not allow_unauthenticated and not _is_loopback(host):
        raise _fault(
            f"--host {host} can be reached by others, and there are no tokens: everyone who reaches it can change "
            "every group. Set --tokens or "
            f"{VARIABLE}, listen on 127.0.0.1, or pass --allow-unauthenticated if your network restricts access"
        )
    if settings.rate_limit is not None:
        raise _fault(
            f"--rate-limit {settings.rate_limit} applies to each token, and there are none: set --tokens or {VARIABLE}"
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
