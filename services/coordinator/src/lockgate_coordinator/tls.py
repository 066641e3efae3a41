"""TLS: the certificate of the service, and the authorities of the clients' certificates."""

import ssl
from dataclasses import dataclass, field
from pathlib import Path

PASSWORD_VARIABLE = "LOCKGATE_SSL_KEYFILE_PASSWORD"


class InvalidTls(Exception):
    """A certificate, key or authority cannot be used. The text names option and file, never the
    password.
    """


@dataclass(frozen=True, slots=True)
class Tls:
    """Files in PEM; without a `keyfile` the key is in the `certfile`. With `ca_certs` clients need
    a certificate that one of these authorities has signed.
    """

    certfile: Path
    keyfile: Path | None = None
    ca_certs: Path | None = None
    password: str = field(default="", repr=False)

    def context(self) -> ssl.SSLContext:
        """A server's context. Raises `InvalidTls`."""
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
        return context

    def _check_files(self) -> None:
        """Checks that the files can be read, since OpenSSL does not name the one that it could not
        read.
        """
        files = {"--ssl-certfile": self.certfile, "--ssl-keyfile": self.keyfile, "--ssl-ca-certs": self.ca_certs}
        for option, file in files.items():
            try:
                if file is not None:
                    file.open("rb").close()
            except OSError as error:
                raise InvalidTls(f"{option} {file} cannot be read: {error.strerror}") from None
