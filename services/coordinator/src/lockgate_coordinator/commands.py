"""The commands `lockgate serve` and `lockgate token`, which the command `lockgate` loads."""

import ipaddress
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from lockgate.wire.fields import NAME, NAME_RULE
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

commands = typer.Typer()


def _of(panel: str) -> Callable[..., Any]:
    """Return a function that makes options, which `lockgate serve --help` shows under `panel`."""

    def option(variable: str, text: str, *flags: str, **more: Any) -> Any:
        return typer.Option(*flags, envvar=f"LOCKGATE_{variable}", rich_help_panel=panel, help=text, **more)

    return option


_listen, _access, _limit, _tls_file, _shown = map(
    _of, ("Listening and storage", "Access", "Limits", "TLS", "Logs and dashboard")
)


@commands.command(
    "serve", epilog="Example: `lockgate serve --host 0.0.0.0 --store redis://redis:6379/0 --tokens tokens.toml`"
)
def serve_command(
    host: Annotated[str, _listen("HOST", "The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, _listen("PORT", "The port to listen on; 0 takes a free one.", min=0, max=65535)] = 8080,
    store: Annotated[
        str,
        _listen(
            "STORE",
            "Where to keep groups: memory:// (one coordinator; after a restart the readers register again) or "
            "redis://HOST:PORT/DB (any number of coordinators).",
            show_envvar=True,
        ),
    ] = "memory://",
    tokens: Annotated[
        Path | None,
        _access("TOKENS_FILE", "A TOML file of tokens, made with `lockgate token`. It is reloaded when it changes."),
    ] = None,
    allow_unauthenticated: Annotated[
        bool,
        _access(
            "ALLOW_UNAUTHENTICATED",
            "Listen on a non-loopback address without tokens. Everyone who reaches the port can then read and change "
            "every group.",
            "--allow-unauthenticated",
        ),
    ] = False,
    allowed_host: Annotated[
        list[str] | None,
        _access(
            "ALLOWED_HOSTS",
            "Without tokens, also accept requests for this host name; * accepts all. Repeatable. IP addresses, "
            "names without a dot and names in .local, .internal and .svc are always accepted.",
        ),
    ] = None,
    rate_limit: Annotated[
        int | None,
        _access(
            "RATE_LIMIT",
            "Limit on requests per second for each token, with bursts of twice as many. [default: no limit]",
            min=1,
        ),
    ] = None,
    max_subscribers: Annotated[
        int, _limit("MAX_SUBSCRIBERS", "Limit on event streams and long polls open at the same time.", min=0)
    ] = MAX_SUBSCRIBERS,
    max_partitions: Annotated[int, _limit("MAX_PARTITIONS", "Limit on partitions per reader.", min=1)] = LIMITS.splits,
    max_readers: Annotated[int, _limit("MAX_READERS", "Limit on readers per group.", min=1)] = LIMITS.readers,
    max_sources: Annotated[
        int, _limit("MAX_SOURCES", "Limit on sources per group, present or expected.", min=1)
    ] = LIMITS.sources,
    max_groups: Annotated[int, _limit("MAX_GROUPS", "Limit on groups in the store.", min=1)] = LIMITS.groups,
    max_attributes: Annotated[
        int, _limit("MAX_ATTRIBUTES", "Limit on the bytes of a reader's owner and attributes.", min=0)
    ] = LIMITS.attributes,
    ssl_certfile: Annotated[
        Path | None, _tls_file("SSL_CERTFILE", "Listen on https with this certificate (PEM).")
    ] = None,
    ssl_keyfile: Annotated[
        Path | None,
        _tls_file(
            "SSL_KEYFILE",
            f"The certificate's private key, if it is in another file. Its password is read from {PASSWORD_VARIABLE}.",
        ),
    ] = None,
    ssl_ca_certs: Annotated[
        Path | None, _tls_file("SSL_CA_CERTS", "Require client certificates signed by one of these authorities (PEM).")
    ] = None,
    probe_port: Annotated[
        int | None,
        _listen(
            "PROBE_PORT",
            "Also serve /livez and /readyz on this port, in plain http, for probes without a certificate.",
            min=1,
            max=65535,
        ),
    ] = None,
    log_format: Annotated[logs.LogFormat, _shown("LOG_FORMAT", "The format of log lines.")] = logs.LogFormat.TEXT,
    log_level: Annotated[logs.LogLevel, _shown("LOG_LEVEL", "Log this level and above.")] = logs.LogLevel.INFO,
    history: Annotated[
        Path | None,
        _shown(
            "HISTORY",
            "Append every change of every group to a file in this folder, for `lockgate verify`. Clients do the same "
            "if LOCKGATE_HISTORY is set.",
        ),
    ] = None,
    dashboard: Annotated[
        bool,
        _shown(
            "DASHBOARD",
            "Serve the dashboard at /. It shows the groups that the token entered there may read.",
            "--dashboard/--no-dashboard",
        ),
    ] = True,
) -> None:
    """Run a coordinator.

    It logs "lockgate listens on http://…" once it accepts requests, and stops within 5 seconds of
    SIGTERM or Ctrl-C. You can also give tokens in LOCKGATE_TOKENS, as ROLE=TOKEN,ROLE=TOKEN.
    """
    logs.install(log_format, log_level)
    limits = Limits(
        splits=max_partitions, readers=max_readers, sources=max_sources, attributes=max_attributes, groups=max_groups
    )
    settings = Settings(
        tokens_file=tokens,
        tokens=os.environ.get(VARIABLE, ""),
        rate_limit=rate_limit,
        max_subscribers=max_subscribers,
        allowed_hosts=(*(allowed_host or ()), host),
        limits=limits,
        dashboard=dashboard,
        history=history,
    )
    tls = _tls(ssl_certfile, ssl_keyfile, ssl_ca_certs)
    _check(settings, host, allow_unauthenticated=allow_unauthenticated)
    if settings.guarded and tls is None and not _is_loopback(host):
        log.warning(
            "others on the network can read the tokens that clients send over plain http to %s: set "
            "--ssl-certfile, or put a TLS proxy in front of the coordinator",
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
    role: Annotated[str, typer.Option(help=f"The token's role: one of {', '.join(ROLES)}.")],
    group: Annotated[
        list[str] | None, typer.Option(help="Allow only this group; a prefix followed by * allows several. Repeatable.")
    ] = None,
) -> None:
    """Create a token. Print its entry for the `serve --tokens` file to standard output, and the
    token itself, which is shown only once, to standard error.
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


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _fault(text: str) -> typer.Exit:
    say(f"lockgate: {text}", err=True)
    return typer.Exit(1)
