"""The token and certificates that a client presents, and the authorities that it trusts.

All of them may be renewed while queries run, since changed files are read again. The next request
uses the new token, the next connection the new certificate. A file that cannot be used changes
nothing, and is logged once.

A new token may reach the client before it reaches the coordinator. So a request that is refused
with the new token is repeated with the previous token, until that token is refused as well.

An authority that is removed from the file is still trusted until the process ends, because OpenSSL
can only add authorities.
"""

import logging
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx

from lockgate.tls_alerts import refusal
from lockgate_http.config import TOKEN, Coordinator
from lockgate_http.errors import ConfigurationError

log = logging.getLogger("lockgate")

_State = tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class Access:
    """A coordinator's address, and a client's credentials and trusted authorities.

    Error messages name these options as arguments of `Coordinator`. A subclass may name them
    otherwise, for example as command-line options.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    token_file: str | None = None
    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    @staticmethod
    def of(coordinator: Coordinator) -> "Access":
        c = coordinator
        return Access(c.url, c.token, c.token_file, c.ca, c.cert, c.key)

    def option(self, *names: str) -> str:
        """Return the text for setting the options `names`, such as `Coordinator(cert=…, key=…)`."""
        return f"Coordinator({', '.join(f'{name}=…' for name in names)})"

    def given(self, *names: str) -> str:
        """Return the options `names` with their values, such as `Coordinator(ca='ca.pem')`."""
        return f"Coordinator({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


class ShownCredentials:
    """The credentials for one coordinator, read again when their files change. Not thread-safe.

    `tls` is the value for httpx's option `verify`. The constructor raises `ConfigurationError` if a
    file cannot be used.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self.token = access.token
        self._before: str | None = None
        files = (access.token_file, access.ca, access.cert, access.key)
        self._written: dict[str, _State] = {file: _written(file) for file in files if file is not None}
        if access.token_file is not None:
            self.token = self._read_token(access.token_file)
        trusting = access.ca is not None or access.cert is not None
        self.tls: ssl.SSLContext | bool = self._context() if trusting else True

    def headers(self) -> Mapping[str, str]:
        """Return the headers of the next request, after checking the files for changes."""
        written = {file: _written(file) for file in self._written}
        changed = {file for file, state in written.items() if state != self._written[file]}
        if changed:
            self._written = written
            self._read_again(changed)
        return _bearer(self.token)

    def headers_before(self) -> Mapping[str, str]:
        """Return the headers with the previous token, or no headers if there is none."""
        return _bearer(self._before)

    def forget_before(self) -> None:
        self._before = None

    def _read_again(self, changed: set[str]) -> None:
        try:
            token_file, ca = self._access.token_file, self._access.ca
            if token_file in changed:
                self._before, self.token = self.token, self._read_token(token_file)
            if isinstance(self.tls, ssl.SSLContext) and changed - {token_file}:
                self._context()  # a failure here leaves the context in use as it is
                if ca is not None:
                    self.tls.load_verify_locations(ca)
                self._show(self.tls)
        except ConfigurationError as error:
            log.error("a changed file cannot be used, so the client keeps the previous credentials: %s", error)
            return
        log.info("reloaded changed files: %s", ", ".join(sorted(changed)))

    def _context(self) -> ssl.SSLContext:
        ca = self._access.ca
        try:
            context = httpx.create_ssl_context() if ca is None else ssl.create_default_context(cafile=ca)
        except (OSError, ValueError) as error:  # an SSLError is an OSError
            raise ConfigurationError(
                f"{self._access.given('ca')}: expected a readable file with CA certificates in PEM: {error}"
            ) from None
        self._show(context)
        return context

    def _show(self, context: ssl.SSLContext) -> None:
        cert, key = self._access.cert, self._access.key
        if cert is None:
            return
        try:
            # The password is a function, or OpenSSL would ask for one on the terminal.
            context.load_cert_chain(cert, key, lambda: "")
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"{self._access.given('cert', 'key')}: expected a certificate in PEM, and its key without a password: "
                f"{error}"
            ) from None

    def _read_token(self, file: str) -> str:
        named = self._access.given("token_file")
        try:
            with open(file, encoding="utf-8") as opened:
                token = opened.read().strip()
        except (OSError, UnicodeError) as error:
            raise ConfigurationError(f"{named}: cannot be read: {error}") from None
        if not token or not TOKEN.match(token):
            raise ConfigurationError(f"{named}: expected one token and nothing else, in printable ASCII without blanks")
        return token


def distrust(error: Exception, access: Access) -> str | None:
    """Return why TLS failed and what to do, or None if `error` has another or an unknown cause."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        remedy = (
            f"Set {access.option('ca')} to the file of the CA that signed it, and {access.option('url')} to a host "
            "that the certificate names"
        )
        return f"the certificate of {access.url} is not trusted: {cause.verify_message}. {remedy}"
    if cause is None:
        return None
    if cause.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        return f"{access.url} does not speak TLS; is it http://?"
    if (refused := refusal(cause.reason)) is not None:
        remedy = f"Set {access.option('cert', 'key')} to a certificate of an authority that the coordinator knows"
        return f"{access.url} refuses this client: {refused}. {remedy}"
    return None


def _bearer(token: str | None) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def _written(file: str) -> _State:
    try:
        state = os.stat(file)
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size, state.st_ino
