"""The fixtures of the clients' tests."""

from support.a_group import group, peer, url

__all__ = ["group", "peer", "url"]
