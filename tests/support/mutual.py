"""Certificates of an authority that is made for a test: a server's, clients', and what must be
refused.
"""

import datetime
from dataclasses import dataclass
from pathlib import Path

import trustme

from lockgate_testbed.redis import Certificates


@dataclass(frozen=True, slots=True)
class Shown:
    """PEM files of one certificate and its key."""

    certificate: Path
    key: Path


class Authority:
    """An authority whose files are in `folder`; `ca` is its own certificate."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._folder, self._authority = folder, trustme.CA()
        self.ca = folder / "ca.pem"
        self._authority.cert_pem.write_to_path(str(self.ca))

    def issued(self, name: str, *identities: str, expired: bool = False) -> Shown:
        """Files named after `name`, which are written anew where they are there already."""
        past = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
        made = self._authority.issue_cert(
            *identities,
            not_before=past if expired else None,
            not_after=past + datetime.timedelta(days=1) if expired else None,
        )
        shown = Shown(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        made.cert_chain_pems[0].write_to_path(str(shown.certificate))
        made.private_key_pem.write_to_path(str(shown.key))
        return shown

    def for_redis(self) -> Certificates:
        """What a Redis on this machine listens with."""
        shown = self.issued("redis", "127.0.0.1")
        return Certificates(self.ca, shown.certificate, shown.key)
