"""TLS: the certificate of the service, and the authorities of the clients' certificates.

**Renewal.** The listener keeps one SSL context for its whole life. At the beginning of each
handshake, OpenSSL calls the callback for server names, even without a server name. This callback
selects the newest context. So new connections get a renewed certificate, and existing ones
continue. If the new files are invalid, nothing changes.

**Removed authorities.** A client that resumes a session does not show its certificate again, so a
client whose certificate is from a removed authority could still connect. Therefore sessions cannot
be resumed if client certificates are required. This requires TLS 1.3, because earlier versions can
resume sessions without a ticket.
"""

import logging
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from lockgate_coordinator.turned_away import TurnedAway
from lockgate_coordinator.watched_files import WatchedFiles

PASSWORD_VARIABLE = "LOCKGATE_SSL_KEYFILE_PASSWORD"

log = logging.getLogger("lockgate")


class InvalidTls(Exception):
    """A certificate, key or authority is invalid. The text names the option and the file."""


@dataclass(frozen=True, slots=True)
class Tls:
    """The TLS files, in PEM.

    Attributes:
        certfile: The certificate of the service.
        keyfile: The private key, or None if it is in `certfile`.
        ca_certs: The authorities of client certificates. If it is None, clients need no
            certificate.
        password: The password of the key, or an empty string if the key is not encrypted.
    """

    certfile: Path
    keyfile: Path | None = None
    ca_certs: Path | None = None
    password: str = field(default="", repr=False)

    def context(self) -> ssl.SSLContext:
        """Return a server's SSL context from the files. Raises `InvalidTls` if one is invalid."""
        self._check_files()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            # The password is a function, or OpenSSL would wait for an empty one on the terminal.
            context.load_cert_chain(self.certfile, self.keyfile, lambda: self.password)
        except (ssl.SSLError, ValueError):
            key = self.keyfile or self.certfile
            raise InvalidTls(
                f"--ssl-certfile {self.certfile} must be a certificate in PEM, and {key} its key; the password "
                "of an encrypted key is "
                f"taken from {PASSWORD_VARIABLE}"
            ) from None
        if self.ca_certs is not None:
            try:
                context.load_verify_locations(self.ca_certs)
            except ssl.SSLError:
                raise InvalidTls(f"--ssl-ca-certs {self.ca_certs} must hold certificates in PEM") from None
            context.verify_mode = ssl.CERT_REQUIRED
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            context.num_tickets = 0
        return context

    def files(self) -> tuple[Path, ...]:
        """Return the files that are set."""
        return tuple(file for file in (self.certfile, self.keyfile, self.ca_certs) if file is not None)

    def _check_files(self) -> None:
        """Raise `InvalidTls` if a file cannot be read. OpenSSL's own error would not name it."""
        files = {"--ssl-certfile": self.certfile, "--ssl-keyfile": self.keyfile, "--ssl-ca-certs": self.ca_certs}
        for option, file in files.items():
            try:
                if file is not None:
                    file.open("rb").close()
            except OSError as error:
                raise InvalidTls(f"{option} {file} cannot be read: {error.strerror}") from None


class RenewedTls:
    """An SSL `context` for a listener, whose new connections use the newest files that `look` has
    loaded. Raises `InvalidTls` if the files are invalid at the start.
    """

    def __init__(self, tls: Tls) -> None:
        self._tls = tls
        self._watched = WatchedFiles(tls.files())
        self._newest = tls.context()
        self._refused = TurnedAway(
            "a client was refused: %s; --ssl-ca-certs lists the accepted authorities",
            "%d more clients were refused in %s, the last one because %s",
        )
        self.context = tls.context()
        self.context.sni_callback = self._take_newest
        self.context.sslobject_class = self._heard()

    def look(self) -> None:
        """Load changed files, and log the outcome. If one is invalid, the old ones stay in use."""
        if not self._watched.have_changed():
            return
        try:
            self._newest = self._tls.context()
        except InvalidTls as error:
            log.error("certificates rejected, keeping the previous ones: %s", error)
            return
        log.warning("new connections use the certificates of %s", ", ".join(map(str, self._tls.files())))

    def _take_newest(self, handshake: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        handshake.context = self._newest

    def _heard(self) -> type[ssl.SSLObject]:
        """Return a class for TLS connections that logs why a client is refused, and sends it the
        reason.

        By itself, asyncio does not log a refusal, and closes the connection before it sends the
        alert that OpenSSL has made for the client. So the class first reports an unfinished
        handshake, which makes asyncio send the alert. It raises the error when the client sends its
        next bytes.
        """
        note = self._refused.note

        class Heard(ssl.SSLObject):
            refusal: ssl.SSLError | None = None

            def do_handshake(self) -> None:
                if self.refusal is not None:
                    raise self.refusal
                try:
                    super().do_handshake()
                except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    raise
                except ssl.SSLError as error:
                    why = _refusal(error)
                    if why is None:
                        raise
                    note(why)
                    self.refusal = error
                    raise ssl.SSLWantReadError from error

        return Heard


def _refusal(error: ssl.SSLError) -> str | None:
    """Return why the client was refused, or None if its certificate is not the reason."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {error.verify_message}"
    return "it presented no certificate" if error.reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE" else None
