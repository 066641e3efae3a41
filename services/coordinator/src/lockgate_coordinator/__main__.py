"""The command `lockgate`."""

import asyncio
import ipaddress
from typing import Annotated

import typer

from lockgate_coordinator.operate import commands
from lockgate_coordinator.server import ListenError, serve
from lockgate_coordinator.store import InvalidStoreAddress, StoreUnavailable, open_store

cli = typer.Typer(
    help="lockgate: splits that run ahead in event time wait until the ones behind catch up.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@cli.callback()
def _lockgate() -> None:
    """Keeps `serve` a subcommand while it is the only one."""


Host = Annotated[str, typer.Option(envvar="LOCKGATE_HOST", help="The address to listen on.")]
Port = Annotated[int, typer.Option(envvar="LOCKGATE_PORT", min=0, max=65535, help="The port to listen on; 0 takes a free one.")]
StoreAddress = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="LOCKGATE_STORE",
        show_envvar=True,
        help="Where groups are kept: memory:// (one coordinator; its readers build it again) or redis://HOST:PORT/DB (any number).",
    ),
]
Unauthenticated = Annotated[
    bool,
    typer.Option(
        "--allow-unauthenticated",
        envvar="LOCKGATE_ALLOW_UNAUTHENTICATED",
        help="Listen on other than loopback addresses, though whoever reaches the port may read and steer every group.",
    ),
]


@cli.command("serve")
def serve_command(
    host: Host = "127.0.0.1", port: Port = 8080, store: StoreAddress = "memory://", allow_unauthenticated: Unauthenticated = False
) -> None:
    """Run a coordinator.

    It prints one line, "lockgate listens on http://…", when it accepts requests, and ends within 5 seconds of SIGTERM or Ctrl-C.
    """
    if not allow_unauthenticated and not _is_loopback(host):
        raise _fault(
            f"--host {host} can be reached by others, and the service has no access control yet: whoever reaches it may steer every group. "
            "Listen on 127.0.0.1, or say --allow-unauthenticated if the network keeps strangers out"
        )
    try:
        asyncio.run(serve(host, port, open_store(store)))
    except (InvalidStoreAddress, StoreUnavailable, ListenError) as error:
        raise _fault(str(error)) from error


cli.command("groups")(commands.groups)
cli.command("describe")(commands.describe)
cli.command("evict")(commands.evict)
cli.command("leave")(commands.leave)
cli.command("forget")(commands.forget)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _fault(text: str) -> typer.Exit:
    typer.echo(f"lockgate: {text}", err=True)
    return typer.Exit(1)


def main() -> None:
    """The entry point of the command `lockgate`."""
    cli(prog_name="lockgate")


if __name__ == "__main__":
    main()
