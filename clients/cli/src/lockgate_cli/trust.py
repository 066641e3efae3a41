"""TLS of the operator's commands: whom they trust, which certificate they show, and what is said
where one of the two is refused.
"""

import ssl
from dataclasses import dataclass
from pathlib import Path

import httpx

from lockgate.tls_alerts import refusal
from lockgate_cli.faults import Fault


@dataclass(frozen=True, slots=True)
class Trust:
    """Files in PEM: the authorities to trust (None: those of the system's users), the certificate
    to show, and its key, if that is in a file of its own.
    """

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def context(self) -> ssl.SSLContext:
        """Return a client's context. Raises `Fault`."""
        if self.key is not None and self.cert is None:
            raise Fault("--key needs --cert, the certificate whose key it is")
        try:
            context = httpx.create_ssl_context() if self.ca is None else ssl.create_default_context(cafile=self.ca)
        except (OSError, ssl.SSLError) as error:
            raise Fault(f"--ca {self.ca} cannot be read as a file of certificates: {error}") from error
        if self.cert is not None:
            try:
                # The password is a function, or OpenSSL would ask for one on the terminal.
                context.load_cert_chain(self.cert, self.key, lambda: "")
            except (OSError, ssl.SSLError, ValueError) as error:
                raise Fault(
                    f"--cert {self.cert} must be a certificate in PEM, and {self.key or self.cert} its key without a "
                    f"password: {error}"
                ) from error
        return context


def distrust(error: BaseException, url: str) -> str | None:
    """Return what is wrong with one of the certificates; None where `error` comes from something
    else.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return (
            f"the certificate of {url} is not trusted ({cause.verify_message}): set --ca to the file of the CA that "
            "signed it, and --url to a host that it names"
        )
    refused = None if cause is None else refusal(cause.reason)
    return (
        None
        if refused is None
        else (
            f"{url} refuses this client: {refused}; set --cert and --key to a certificate of an authority that it knows"
        )
    )
