"""Connections through redis-py to a single Redis, to a Redis behind Sentinels, or to a Redis
Cluster. Errors of the driver are raised as `StoreUnavailable`, with advice.
"""

import asyncio
import logging
import re
import sys
from collections.abc import Sequence
from hashlib import sha1
from importlib.resources import files
from typing import Any

from redis.asyncio import Redis, RedisCluster, Sentinel
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import MasterNotFoundError
from redis.backoff import ConstantBackoff
from redis.exceptions import (
    AuthenticationError,
    MovedError,
    NoPermissionError,
    NoScriptError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as NotConnected

from lockgate.tls_alerts import refusal
from lockgate_coordinator.store.addresses import PASSWORD, TLS_FILES, Form, RedisAddress
from lockgate_coordinator.store.base import StoreUnavailable
from lockgate_coordinator.store.outages import Outages
from lockgate_coordinator.watched_files import WatchedFiles

if sys.version_info >= (3, 11):
    from asyncio import timeout
else:  # a dependency of redis-py there
    from async_timeout import timeout

log = logging.getLogger("lockgate")

TIMEOUT_S = 2.0
"""How long an answer may take, including connecting and queueing. This is shorter than the timeout
of clients. There is one timer for all of it, because redis-py's `socket_timeout` costs as much as
the rest of a command.
"""

CONNECTIONS = 16
"""The maximum number of commands in progress, and of connections unless some of them break."""

_FAULT_OF_A_SCRIPT = re.compile(r"user_script:\d+:")

_ONCE_MORE = 1
"""The number of retries of a command. A pooled connection may be older than a restart of Redis."""


class Script:
    """A Lua script and its SHA-1. The script consists of the files `names` in `scripts`, joined."""

    def __init__(self, *names: str) -> None:
        folder = files(__package__) / "scripts"
        self.text = "\n".join((folder / f"{name}.lua").read_text(encoding="utf-8") for name in names)
        self.sha = sha1(self.text.encode(), usedforsecurity=False).hexdigest()


class Connections:
    """The connections to the Redis at one address. They are opened when they are needed."""

    def __init__(self, address: RedisAddress) -> None:
        self._address = address
        self._outages = Outages(str(address))
        self._files = WatchedFiles(str(value) for name, value in (address.tls or {}).items() if name in TLS_FILES)
        self._client, self._others = _clients(address)
        self._permits = asyncio.Semaphore(CONNECTIONS)
        self._may_ask = True

    async def run(self, script: Script, keys: Sequence[str], args: Sequence[str | bytes | int]) -> Any:
        """Run the script and return its answer. All keys must have the same hash tag."""
        words = ("EVALSHA", script.sha, len(keys), *keys, *args)
        try:
            return await self.command(*words)
        except NoScriptError:  # for example after a restart of Redis
            return await self.command("EVAL", script.text, *words[2:])

    async def command(self, *words: str | bytes | int) -> Any:
        """Execute a Redis command, given as its `words`, and return the answer."""
        answer = await self._pooled(words)
        if self._outages.now:
            self._outages.over()
        return answer

    async def eviction_policies(self) -> set[str] | None:
        """Return the `maxmemory-policy` of Redis, or those of all nodes of a cluster. Return None
        if Redis does not answer, or if its user may not read the policy.
        """
        if not self._may_ask:
            return None
        try:
            async with timeout(TIMEOUT_S):
                nodes = {"target_nodes": RedisCluster.ALL_NODES} if self._address.form is Form.CLUSTER else {}
                told = await self._client.info("memory", **nodes)
        except (RedisError, RedisClusterException, OSError, TimeoutError, RuntimeError) as error:
            self._may_ask = not isinstance(error, NoPermissionError)
            return None  # that there is no Redis is said elsewhere
        answers = [told] if "maxmemory_policy" in told else told.values()  # a cluster of one node answers as one
        return {str(each.get("maxmemory_policy", "")) for each in answers if isinstance(each, dict)}

    async def close(self) -> None:
        for client in (self._client, *self._others):
            await client.aclose()

    async def _pooled(self, words: tuple[str | bytes | int, ...]) -> Any:
        try:
            async with timeout(TIMEOUT_S), self._permits:
                return await self._executed(words)
        except NoScriptError:
            raise
        except (RedisError, RedisClusterException, OSError, TimeoutError) as error:
            if not self._renewed():
                distrusted = None if self._address.tls is None else _distrusted(error)
                text = f"{self._address}: {distrusted or _describe_error(error)}"
                self._outages.failed(text)
                raise StoreUnavailable(text) from error
        return await self._pooled(words)

    def _renewed(self) -> bool:
        """Use a new client from now on if the TLS files have changed. Return whether they have."""
        if not self._files.have_changed():
            return False
        log.warning("the certificates for %s have changed: new connections use them", self._address)
        self._others += [self._client]
        self._client, others = _clients(self._address)
        self._others += others
        return True

    async def _executed(self, words: tuple[str | bytes | int, ...]) -> Any:
        """Execute a command over the first connection that works.

        If the server has reset a pooled connection, uvloop raises a RuntimeError. redis-py then
        closes the connection, but retries a command only after its own errors. So this method tries
        the next one.
        """
        tried = False
        for _ in range(CONNECTIONS):
            try:
                return await self._client.execute_command(*words)
            except (ReadOnlyError, NotConnected) as error:
                if self._address.form is Form.CLUSTER:
                    raise
                # redis-py reconnects to the old address; only a new connection finds a new master
                await self._client.connection_pool.disconnect(inuse_connections=False)
                if tried or isinstance(error, ReadOnlyError):
                    raise
                tried = True
            except RuntimeError as error:
                if "closed" not in str(error):
                    raise
        raise NotConnected("every connection was closed by the server")


def is_no_group(error: BaseException | None) -> bool:
    """Return whether a script has failed because its keys hold something other than a group."""
    if not isinstance(error, ResponseError):
        return False
    return "WRONGTYPE" in str(error) or _FAULT_OF_A_SCRIPT.search(str(error)) is not None


_REASON_OF_TLS = re.compile(r"\[SSL: (\w+)\]")
_OWN_CERTIFICATE = (
    "Set ssl_certfile and ssl_keyfile in the address to a certificate of an authority that this Redis knows"
)


def _clients(address: RedisAddress) -> tuple[Any, list[Any]]:
    """Return a client for the address, and the clients of the Sentinels, if there are any."""
    tls: dict[str, Any] = {} if address.tls is None else {"ssl": True, **address.tls}
    retry = Retry(ConstantBackoff(0.01), _ONCE_MORE)
    common: dict[str, Any] = {"decode_responses": True, "protocol": 2, "socket_timeout": None, "retry": retry, **tls}
    asked = {**common, "username": address.sentinel.username, "password": address.sentinel.password}
    if address.credentials.password is not None:
        common |= {"username": address.credentials.username, "password": address.credentials.password}
    if address.form is Form.CLUSTER:
        nodes = [ClusterNode(host, port) for host, port in address.servers]
        return RedisCluster(startup_nodes=nodes, **common), []
    common["db"] = address.database
    if address.form is Form.SERVER:
        ((host, port),) = address.servers
        return Redis(host=host, port=port, **common), []
    # as redis-py has it
    sentinel = Sentinel(address.servers, sentinel_kwargs=asked, **common)  # type: ignore[no-untyped-call]
    return sentinel.master_for(address.service), sentinel.sentinels


def _distrusted(error: Exception) -> str | None:
    """Return a reason and a remedy if a certificate has caused the error, otherwise None."""
    text = str(error)
    found = _REASON_OF_TLS.search(text)
    if found is not None and found[1] == "CERTIFICATE_VERIFY_FAILED":
        return f"{text}. Set ssl_ca_certs in the address to the authority that signed this Redis's certificate"
    if found is not None and (refused := refusal(found[1])) is not None:
        return f"{refused}. {_OWN_CERTIFICATE}"
    if "reset by peer" in text:
        # Redis often does not wait until its alert is read.
        return f"it has ended the connection over TLS, as where it refuses a certificate. {_OWN_CERTIFICATE}"
    return None


def _describe_error(error: Exception) -> str:
    """Return the text of a redis-py error without connection settings, with a remedy if any."""
    cause = error.__cause__
    if isinstance(error, RedisClusterException) and isinstance(cause, NotConnected | NoPermissionError):
        return _describe_error(cause)
    if isinstance(error, RedisClusterException):
        return "no cluster can be reached there; a Redis that is no cluster has the address redis://HOST:PORT/DB"
    if isinstance(error, MasterNotFoundError):
        return (
            "no Sentinel names a master of this service that answers: check its name, the Sentinels' "
            "credentials, and their TLS"
        )
    if isinstance(error, TimeoutError):
        return f"no answer within {TIMEOUT_S:g} s"
    text = str(error).rstrip(".") or type(error).__name__
    return f"{text}. {advice}" if (advice := _advice(error)) else text


def _advice(error: Exception) -> str:
    if isinstance(error, MovedError):
        return "It is a node of a Redis Cluster: the address must begin with redis+cluster://"
    if isinstance(error, ReadOnlyError):
        return (
            "It is a replica: the address must be the master's, or redis+sentinel://, whose Sentinels know the master"
        )
    if isinstance(error, NoPermissionError):
        return "docs/operations.md has the commands and keys that the user needs"
    if isinstance(error, AuthenticationError) or str(error).startswith(("NOAUTH", "WRONGPASS")):
        return f"Check the user in the address, and the password there or in {PASSWORD}"
    if "unknown command 'SENTINEL'" in str(error):
        return "It is no Sentinel: the address of a Redis begins with redis://"
    return ""
