"""The parsed address of a Redis: its servers, credentials and TLS.

One server:                         redis://[USER:PASSWORD@]HOST[:PORT][/DB]
The master that Sentinels name:     redis+sentinel://[USER:PASSWORD@]HOST[:PORT],…/SERVICE[/DB]
A Redis Cluster, by some nodes:     redis+cluster://[USER:PASSWORD@]HOST[:PORT],HOST[:PORT]…

With `rediss` instead of `redis` the connections use TLS. Special characters in a part are
percent-encoded. Options follow a `?`: those of redis-py for TLS, and the credentials of the
Sentinels. A password may also come from the environment, which `ps` does not show.

No error of this module quotes a part of an address, since any part may be a piece of a password.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from lockgate_coordinator.store.base import InvalidStoreAddress

PASSWORD = "LOCKGATE_REDIS_PASSWORD"
"""The environment variable with the password, if the address has none."""

SENTINEL_PASSWORD = "LOCKGATE_REDIS_SENTINEL_PASSWORD"
"""The environment variable with the Sentinels' password, if the address has none."""

REDIS_PORT, SENTINEL_PORT = 6379, 26379

TLS_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
TLS_CHOICES = {"ssl_cert_reqs": ("required", "optional", "none"), "ssl_check_hostname": ("true", "false")}
SENTINEL_OPTIONS = ("sentinel_username", "sentinel_password")


class Form(Enum):
    """The kind of servers at an address."""

    SERVER = "redis"
    SENTINEL = "redis+sentinel"
    CLUSTER = "redis+cluster"


SCHEMES = {scheme: form for form in Form for scheme in (form.value, form.value.replace("redis", "rediss"))}


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user name and a password. None means Redis's default user, or no password."""

    username: str | None = None
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """A parsed address.

    Attributes:
        service: The name of the master, for the form SENTINEL only.
        sentinel: The credentials of the Sentinels, for the form SENTINEL only.
        tls: redis-py's TLS options, or None without TLS.
    """

    form: Form
    servers: tuple[tuple[str, int], ...]
    credentials: Credentials
    database: int = 0
    service: str = ""
    sentinel: Credentials = Credentials()
    tls: Mapping[str, str | bool] | None = None

    def __str__(self) -> str:
        """Return the address for log lines and errors, without credentials."""
        servers = ", ".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.servers)
        if self.form is Form.SENTINEL:
            return f"Redis (the master that the Sentinels at {servers} name)"
        return f"Redis Cluster at {servers}" if self.form is Form.CLUSTER else f"Redis at {servers}"


def parse(address: str, environment: Mapping[str, str]) -> RedisAddress:
    """Parse `address`. A password that it does not contain is taken from `environment`. Raises
    `InvalidStoreAddress` if a part is invalid. The error names that part.
    """
    scheme, _, rest = address.partition("://")
    form = SCHEMES[scheme]
    try:
        parts = urlsplit(f"//{rest}", allow_fragments=False)
    except ValueError:
        raise _wrong("host", "must be a name, an IPv4 address or a bracketed IPv6 address") from None
    who, _, hosts = parts.netloc.rpartition("@")
    options = _options(parts.query)
    tls = _tls(options, scheme)
    sentinel = _sentinel_credentials(options, form, environment)
    if options:
        raise _unknown(sorted(options)[0], parts.query)
    service, database = _path(parts.path, form)
    default_port = SENTINEL_PORT if form is Form.SENTINEL else REDIS_PORT
    servers = tuple(_server(host, default_port) for host in hosts.split(","))
    if form is Form.SERVER and len(servers) > 1:
        raise _wrong("hosts", "must be one; several are for redis+sentinel:// and redis+cluster://")
    return RedisAddress(form, servers, _credentials(who, environment), database, service, sentinel, tls)


def _credentials(text: str, environment: Mapping[str, str]) -> Credentials:
    username, _, password = text.partition(":")
    return Credentials(unquote(username) or None, unquote(password) or environment.get(PASSWORD) or None)


def _sentinel_credentials(options: dict[str, str], form: Form, environment: Mapping[str, str]) -> Credentials:
    given = {name: options.pop(name) for name in SENTINEL_OPTIONS if name in options}
    if given and form is not Form.SENTINEL:
        raise _wrong("options", f"may have {next(iter(given))} with redis+sentinel:// alone")
    password = given.get("sentinel_password") or (environment.get(SENTINEL_PASSWORD) if form is Form.SENTINEL else None)
    return Credentials(given.get("sentinel_username") or None, password or None)


def _options(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
    except ValueError:
        raise _wrong("options", "must be NAME=VALUE, joined by &") from None
    options = dict(pairs)
    if len(options) < len(pairs):
        raise _wrong("options", "must each be given once")
    return options


def _unknown(option: str, query: str) -> InvalidStoreAddress:
    """Return the error for an unknown option, not named if it may be part of a password with ?."""
    return _wrong(
        "options",
        f"know no {option!r}" if option.isidentifier() and "@" not in query else "have a name that is not known",
    )


def _tls(options: dict[str, str], scheme: str) -> dict[str, str | bool] | None:
    given: dict[str, str | bool] = {name: options.pop(name) for name in (*TLS_FILES, *TLS_CHOICES) if name in options}
    if not scheme.startswith("rediss"):
        if given:
            raise _wrong(
                "options", f"may have {next(iter(given))} over TLS alone: {scheme.replace('redis', 'rediss')}://"
            )
        return None
    for name, value in given.items():
        if name in TLS_FILES and not Path(str(value)).is_file():
            raise _wrong(name, "must be the path of a file that can be read; nothing is there")
        if name in TLS_CHOICES and value not in TLS_CHOICES[name]:
            raise _wrong(name, f"must be one of {', '.join(TLS_CHOICES[name])}")
    if "ssl_keyfile" in given and "ssl_certfile" not in given:
        raise _wrong("ssl_keyfile", "needs an ssl_certfile beside it")
    checked = given.get("ssl_check_hostname", "false" if given.get("ssl_cert_reqs") == "none" else "true")
    return {**given, "ssl_check_hostname": checked == "true"}


def _path(path: str, form: Form) -> tuple[str, int]:
    """Return the name of the Sentinels' service ("" without them) and the database's number."""
    steps = [unquote(step) for step in path.strip("/").split("/")] if path.strip("/") else []
    service = ""
    if form is Form.SENTINEL:
        if not steps:
            raise _wrong(
                "path", "must name the service that the Sentinels watch: redis+sentinel://HOST:PORT/SERVICE[/DB]"
            )
        service = steps.pop(0)
    if form is Form.CLUSTER and steps:
        raise _wrong("path", "must be empty: a cluster has one database")
    if len(steps) > 1 or not all(step.isascii() and step.isdigit() for step in steps):
        raise _wrong("database", "must be a number")
    return service, int(steps[0]) if steps else 0


def _server(text: str, default_port: int) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}", allow_fragments=False)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _wrong("port", "must be a number from 1 to 65535") from None
    if not host or any(character.isspace() for character in host):
        raise _wrong("host", "must be the name or the address of a server")
    if port == 0 or (port is None and text.endswith(":")):
        raise _wrong("port", "must be a number from 1 to 65535")
    return host, port or default_port


def _wrong(part: str, expected: str) -> InvalidStoreAddress:
    """Return the error for a `part` that is not as `expected`, without quoting the address."""
    return InvalidStoreAddress(
        f"the store's address: {part} {expected}. Special characters in a user or a password are percent-encoded"
    )
