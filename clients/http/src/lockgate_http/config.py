"""A user's settings for a coordinator and a group, frozen and checked when they are made."""

import re
from dataclasses import KW_ONLY, dataclass, field
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from lockgate.wire.fields import NAME, NAME_RULE
from lockgate_http.duration import Duration, milliseconds
from lockgate_http.errors import ConfigurationError

if TYPE_CHECKING:
    from typing_extensions import Self

_CHOICES = {
    "catch_up": ("joint", "strict"),
    "on_outage": ("hold", "proceed", "fail"),
    "new_group": ("create", "refuse"),
}

TOKEN = re.compile(r"[!-~]*\Z")
"""The pattern of a token, which has to fit into a header."""


class Named:
    """The base class of settings. The error for a wrong option suggests the right one."""

    __slots__ = ()

    def __new__(cls, *args: object, **options: object) -> "Self":
        parameters = [each for each in signature(cls.__init__).parameters.values() if each.name != "self"]
        names = [each.name for each in parameters]
        by_place = [each.name for each in parameters if each.kind is not Parameter.KEYWORD_ONLY]
        if len(args) > len(by_place):
            first = next(name for name in names if name not in by_place)
            raise ConfigurationError(
                f"{cls.__name__} takes its options by name: write {first}={args[len(by_place)]!r}, or the option that "
                "you mean"
            )
        for option in options.keys() - set(names):
            near = get_close_matches(option, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
            raise ConfigurationError(f"{cls.__name__} has no option {option!r}: {hint}")
        if "group" in names and args and "group" not in options:
            raise ConfigurationError(f"{cls.__name__}(group): not set; write {cls.__name__}({args[0]!r}, group='NAME')")
        return super().__new__(cls)


@dataclass(frozen=True, slots=True)
class Coordinator(Named):
    """Name the coordinator and the alignment group that a query joins.

    The queries of one group wait for each other.

    Args:
        url: The coordinator's address.
        group: Name of the group.
        source: This query's name in the group. Default: the query's name, or its id.
        catch_up: How the group works through a backlog: `joint` or `strict`. It is set by the query
            that creates the group.
        token: Bearer token.
        token_file: File that holds the token. It is read again when it changes.
        ca: File with the certificate authority (PEM) of an https coordinator.
        cert: File with the client certificate (PEM), if the coordinator requires one.
        key: File with the private key (PEM) of `cert`, if `cert` does not contain it.
        timeout: Time limit for one call to the coordinator, with name look-up and retries.
        on_outage: What the query does while the coordinator is unreachable. It first reads up to
            the last read limit and waits. With `hold` it keeps waiting. After `hold_for`, `proceed`
            lets it continue without the group, and `fail` stops it.
        hold_for: How long the query waits before it proceeds or fails.
        max_batch: The longest time that a batch may take before the query loses its lease. Default:
            no limit.
        park: How long a run under `Trigger.AvailableNow` keeps blocking the group after its end,
            until the next run reports. Default: not at all.
        new_group: With `refuse`, the query fails if its group does not exist. By default the first
            query creates it.

    Raises:
        ConfigurationError: A value is invalid; the message names it.
    """

    url: str
    _: KW_ONLY
    group: str
    source: str | None = None
    catch_up: Literal["joint", "strict"] = "joint"
    token: str | None = field(default=None, repr=False)
    token_file: str | None = None
    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    timeout: Duration = "2 seconds"
    on_outage: Literal["hold", "proceed", "fail"] = "hold"
    hold_for: Duration = "5 minutes"
    max_batch: Duration | None = None
    park: Duration | None = None
    new_group: Literal["create", "refuse"] = "create"

    def __post_init__(self) -> None:
        if not is_address(self.url):
            # The URL may hold a password, so it is not repeated.
            raise ConfigurationError(
                "Coordinator(url): expected http://HOST:PORT or https://HOST:PORT, without user, password or query"
            )
        for key in ("group", "source"):
            name = getattr(self, key)
            if name is not None and not (isinstance(name, str) and NAME.match(name)):
                raise ConfigurationError(f"Coordinator({key}={name!r}): {NAME_RULE}")
        if self.token is not None and not (isinstance(self.token, str) and TOKEN.match(self.token)):
            # The token is not repeated.
            raise ConfigurationError(
                "Coordinator(token): expected printable ASCII without blanks and line ends, as a header carries it"
            )
        if self.token_file is not None and self.token is not None:
            raise ConfigurationError("Coordinator(token, token_file): expected one of the two")
        _check_files(self)
        for key, words in _CHOICES.items():
            if (chosen := getattr(self, key)) not in words:
                raise ConfigurationError(f"Coordinator({key}={chosen!r}): expected {' or '.join(map(repr, words))}")
        milliseconds("Coordinator(hold_for)", self.hold_for)
        for key in ("timeout", "max_batch", "park"):
            if (value := getattr(self, key)) is not None and milliseconds(f"Coordinator({key})", value) == 0:
                raise ConfigurationError(
                    f"Coordinator({key}): must be above 0{'' if key == 'timeout' else ', or None'}"
                )


_FILES = {
    "token_file": "a file that holds a token",
    "ca": "a file with CA certificates in PEM",
    "cert": "a file with a certificate in PEM",
    "key": "a file with the key of cert, in PEM",
}


def _check_files(given: Coordinator) -> None:
    for name, expected in _FILES.items():
        path = getattr(given, name)
        if path is None:
            continue
        if not isinstance(path, str) or not path:
            raise ConfigurationError(f"Coordinator({name}={path!r}): expected the path of {expected}")
        if name != "token_file" and urlsplit(given.url).scheme != "https":
            raise ConfigurationError(
                f"Coordinator({name}={path!r}): the url is http://, which nothing protects; expected https:// with a "
                "certificate"
            )
    if given.key is not None and given.cert is None:
        raise ConfigurationError("Coordinator(key): needs cert, the certificate whose key it is")


def is_address(url: object) -> bool:
    """Return whether `url` is http or https with a host, and without user, password or query."""
    if not isinstance(url, str) or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    wrong = "@" in parts.netloc or parts.query or parts.fragment
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not wrong
