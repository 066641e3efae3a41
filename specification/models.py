"""The models: the bounds within which TLC checks the specification. A model that breaks a rule on
purpose names the property that must then be violated.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

Constant = int | bool | str

GROUP: Mapping[str, Constant] = {
    "Readers": "{r1, r2}",
    "Coordinators": "{c1, c2}",
    "End": 2,
    "Drift": 1,
    "Batch": 1,
    "Joint": False,
    "Hold": False,
    "Back": 1,
    "Deaths": 0,
    "Leases": 0,
    "Outages": 0,
    "Losses": 0,
    "Failovers": 0,
    "Explicit": False,
    "Delayed": False,
}
THREE: Mapping[str, Constant] = {"Readers": "{r1, r2, r3}"}
GROUP_PROPERTIES = (
    "PlanWithinCeiling",
    "NoReaderLeftBehind",
    "CeilingWithinReach",
    "LowestNeverWaits",
    "RevisionNamesOneEvent",
    "FencedMovesNothing",
)
SPLITS: Mapping[str, Constant] = {
    "Readers": "{r1, r2}",
    "Splits": "{s1}",
    "End": 1,
    "Deaths": 0,
    "Leases": 0,
    "Moves": 1,
}
SPLITS_PROPERTIES = ("OneReader", "CommittedOnce", "NothingSkipped", "HandedOutOnce", "GroupWaitsForSplits")
OF_STEPS = {"PlanWithinCeiling"}
"""Properties of steps. TLC calls them properties, and those of states invariants."""


@dataclass(frozen=True, slots=True)
class Model:
    """One run of TLC.

    Attributes:
        constants: Those that differ from the module's defaults.
        breaks: The rule that the model breaks.
        violates: The property that TLC must find violated.
        long: Whether the model takes minutes.
    """

    name: str
    module: str = "Group"
    constants: Mapping[str, Constant] = field(default_factory=dict)
    breaks: str = ""
    violates: str | None = None
    liveness: str = ""
    long: bool = False

    @property
    def reduced(self) -> bool:
        """Whether TLC checks `Reduced.tla` in place of `Group.tla`."""
        cached = self.constants.get("Explicit") or self.breaks == "compare-and-set"
        return self.module == "Group" and not self.liveness and not cached

    @property
    def root(self) -> str:
        """The module that TLC loads."""
        return "Reduced" if self.reduced else self.module

    def configuration(self) -> str:
        """Return TLC's configuration file."""
        defaults, properties = (GROUP, GROUP_PROPERTIES) if self.module == "Group" else (SPLITS, SPLITS_PROPERTIES)
        checked = (self.violates,) if self.violates else () if self.liveness else properties
        rules = f'{{"{self.breaks}"}}' if self.breaks else "{}"
        constants = {**defaults, **self.constants}
        specification = "ReducedSpec" if self.reduced else "FairSpec" if self.liveness else "Spec"
        lines = [f"SPECIFICATION {specification}", "CONSTANTS", "  None = None"]
        lines += [f"  {name} = {_written(value)}" for name, value in constants.items()]
        lines += [f"  Broken = {rules}"]
        # TLC's symmetry is not sound for liveness
        lines += [f"PROPERTY {self.liveness}"] if self.liveness else ["SYMMETRY Symmetry"]
        lines += ["VIEW Abstract"] if self.reduced else []
        lines += [f"{'PROPERTY' if name in OF_STEPS else 'INVARIANT'} {name}" for name in checked if name]
        return "\n".join(lines) + "\n"


def _written(value: Constant) -> str:
    return str(value).upper() if isinstance(value, bool) else str(value)


def _broken(rule: str, violates: str, module: str = "Group", **constants: Constant) -> Model:
    return Model(f"without: {rule}", module, constants, rule, violates)


def _broken_with_failover(rule: str, violates: str) -> Model:
    name = f"three readers, failover, without: {rule}"
    return Model(name, constants={**THREE, "Failovers": 1}, breaks=rule, violates=violates, long=True)


LOST: Mapping[str, Constant] = {"Leases": 1, "Moves": 0}
MODELS = {
    model.name: model
    for model in (
        Model("group"),
        Model("group, two coordinators step by step", constants={"Explicit": True}),
        Model("group, a reader dies", constants={"Deaths": 1}),
        Model("group, a lease ends", constants={"Leases": 1}),
        Model("group, outage", constants={"Outages": 1, "Leases": 1}),
        Model("group, lost memory", constants={"Losses": 1}),
        Model("group, failover", constants={"Failovers": 1}),
        Model("group, late news", constants={"Delayed": True}),
        Model("group, joint", constants={"Joint": True, "Batch": 2}),
        Model("group, three readers", constants=THREE),
        Model("group, three readers, failover", constants={**THREE, "Failovers": 1}, long=True),
        Model("group, nobody waits forever", liveness="NobodyWaitsForever"),
        _broken("plan within the ceiling", "PlanWithinCeiling"),
        _broken("epochs", "FencedMovesNothing", Readers="{r1}", Deaths=1),
        _broken("numbers rise after a loss", "FencedMovesNothing", Readers="{r1}", Deaths=1, Losses=1),
        _broken("compare-and-set", "NoReaderLeftBehind"),
        _broken("leases", "NoReaderLeftBehind", Leases=1),
        _broken("a silence of all is an outage", "NoReaderLeftBehind", Outages=1, Leases=1),
        _broken("news while the last answer is young", "NoReaderLeftBehind", Outages=1, Leases=1),
        _broken("news of one version", "NoReaderLeftBehind", Losses=1, Deaths=1),
        _broken("ceiling at registration", "NoReaderLeftBehind", Losses=1),
        _broken("grace of a new group", "NoReaderLeftBehind", Losses=1),
        _broken_with_failover("answers lower news", "NoReaderLeftBehind"),
        _broken_with_failover("numbers rise after a loss", "RevisionNamesOneEvent"),
        _broken_with_failover("compare-and-set", "NoReaderLeftBehind"),
        Model("splits, one moves", "Splits"),
        Model("splits, an owner is lost", "Splits", LOST),
        Model("splits, three readers, an owner is lost", "Splits", {**LOST, **THREE}, long=True),
        _broken("assignment numbers", "CommittedOnce", "Splits", **LOST),
        _broken("leases of splits", "OneReader", "Splits", **LOST),
        _broken("a reader stops by its own clock", "OneReader", "Splits", **LOST),
        _broken("positions rise", "CommittedOnce", "Splits", **LOST),
        _broken("position of the hand-over", "HandedOutOnce", "Splits"),
        _broken("arriving splits count", "GroupWaitsForSplits", "Splits"),
    )
}
