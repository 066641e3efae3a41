"""The reasons for which a server ends a TLS connection, as text.

A server sends its reason as an alert (RFC 8446, section 6.2). Python shows it under OpenSSL's name,
such as `TLSV13_ALERT_CERTIFICATE_REQUIRED`. Only alerts about the client's certificate are
explained here.
"""

_SHOWN = "the certificate that was shown"
_WORDS = {
    "CERTIFICATE_REQUIRED": "it asks for a certificate, and none was shown",
    "HANDSHAKE_FAILURE": "it refuses the connection as it is; before TLS 1.3 this is how a certificate is asked for",
    "CERTIFICATE_EXPIRED": f"{_SHOWN} has expired, or is not valid yet",
    "CERTIFICATE_REVOKED": f"{_SHOWN} was revoked",
    "UNKNOWN_CA": f"it does not know the authority that signed {_SHOWN}",
    "BAD_CERTIFICATE": f"it does not accept {_SHOWN}",
    "UNSUPPORTED_CERTIFICATE": f"{_SHOWN} is not one for clients",
    "CERTIFICATE_UNKNOWN": f"it does not accept {_SHOWN}",
    "DECRYPT_ERROR": f"{_SHOWN} does not belong to its key",
    "ACCESS_DENIED": f"{_SHOWN} is one that may not come in",
}


def refusal(reason: str | None) -> str | None:
    """Return OpenSSL's `reason` in words, or None if it is no alert about a client certificate."""
    return _WORDS.get((reason or "").partition("_ALERT_")[2])
