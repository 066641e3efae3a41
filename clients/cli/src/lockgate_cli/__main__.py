"""The command `lockgate`, with the commands of this package and those that other packages add.

A package adds commands through an entry point in the group `lockgate.commands` that names a
`typer.Typer`. For example, `lockgate-coordinator` adds `serve` and `token`.
"""

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Annotated

import typer

from lockgate import __version__
from lockgate_cli import acts, advising, commands, completing, looks, transfer, verifying
from lockgate_cli.output import say

cli = typer.Typer(
    help="Run and inspect the coordinator that keeps streaming queries aligned in event time.",
    no_args_is_help=True,
    rich_markup_mode="markdown",  # a docstring's lines are joined
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"lockgate {__version__}")
        raise typer.Exit


@cli.callback()
def _lockgate(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None: ...


def _missing(context: typer.Context) -> None:
    """Not available yet: run `pip install lockgate-coordinator` first."""
    say(f"lockgate: {context.info_name} needs the service: pip install lockgate-coordinator", err=True)
    raise typer.Exit(1)


for _entry in entry_points(group="lockgate.commands"):
    cli.registered_commands += _entry.load().registered_commands
for _name in ("serve", "token"):
    if _name not in {each.name for each in cli.registered_commands}:
        _any = {"allow_extra_args": True, "ignore_unknown_options": True}
        cli.command(_name, context_settings=_any)(_missing)

EXAMPLES: dict[str, tuple[Callable[..., None], str]] = {
    "groups": (commands.groups, "lockgate groups --watch"),
    "describe": (commands.describe, "lockgate describe checkout --partitions"),
    "watch": (commands.watch, "lockgate watch checkout"),
    "check": (looks.check, "lockgate check checkout --max-drift 10min --stuck-for 15min"),
    "wait": (completing.wait, "lockgate wait checkout --until 2026-11-25T10:00Z --timeout 30min"),
    "journal": (looks.journal, "lockgate journal checkout --since 1h --follow"),
    "advise": (advising.advise, "lockgate advise checkout --delay 10min --window 1h"),
    "simulate": (advising.simulate, "lockgate simulate workload.yaml --max-drift 5min"),
    "verify": (verifying.verify_command, "lockgate verify /var/lib/lockgate"),
    "pause": (acts.pause, "lockgate pause checkout orders --reason 'schema migration'"),
    "resume": (acts.resume, "lockgate resume checkout orders"),
    "evict": (commands.evict, "lockgate evict checkout orders 0"),
    "delete": (commands.delete, "lockgate delete checkout"),
    "export": (transfer.export_command, "lockgate export --output groups.json"),
    "import": (transfer.import_command, "lockgate import groups.json --dry-run"),
}
"""The commands of this package by name, each with an example for its help."""

for _name, (_command, _example) in EXAMPLES.items():
    cli.command(_name, epilog=f"Example: `{_example}`")(_command)
cli.add_typer(acts.config, name="config")


def main() -> None:
    """Run the command `lockgate`."""
    cli(prog_name="lockgate")


if __name__ == "__main__":
    main()
