"""Settings in Spark's conf (`spark.lockgate.*`), and in a stream's options (`lockgate.*`), which
only the server's extension reads. A key is a field's name in camelCase; those of `Coordinator`
begin with `coordinator.`. Values are text as in the code, and `none` stands for None.

The conf is read when `align` is called, and overrides the code and the options. A token is not an
option, because Spark shows the options in a client's plan. Instead, the option
`lockgate.coordinator.tokenName` names a token of the conf, `spark.lockgate.token.<name>`.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import timedelta
from difflib import get_close_matches
from functools import partial
from typing import Any, TypeVar

from lockgate_http.config import Coordinator
from lockgate_http.duration import as_option, milliseconds
from lockgate_http.errors import ConfigurationError
from lockgate_spark.config import Alignment

log = logging.getLogger("lockgate")

PREFIX = "spark.lockgate."
ENABLED = PREFIX + "enabled"
ALIGN = PREFIX + "align"
PYTHON = PREFIX + "python"
TOKENS = PREFIX + "token."  # Spark shows no value of a key with this word in it
OPTION = "lockgate."
ALIGN_OPTION = OPTION + "align"
TOKEN_NAME = OPTION + "coordinator.tokenName"
_TOKEN = OPTION + "coordinator.token"
_Made = TypeVar("_Made")


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _keys(of: type, prefix: str) -> dict[str, str]:
    """Return the field names of the dataclass `of` by the keys that set them."""
    return {prefix + _camel(field.name): field.name for field in fields(of) if field.name not in ("_", "coordinator")}


_OPTIONS = _keys(Alignment, OPTION)
_COORDINATOR_OPTIONS = {k: name for k, name in _keys(Coordinator, OPTION + "coordinator.").items() if k != _TOKEN}
# all but those of named tokens
KEYS = (ENABLED, ALIGN, PYTHON, *_keys(Alignment, PREFIX), *_keys(Coordinator, PREFIX + "coordinator."))
OPTIONS = (ALIGN_OPTION, TOKEN_NAME, *_OPTIONS, *_COORDINATOR_OPTIONS)


def enabled(conf: Any) -> bool:
    return _switch(ENABLED, str(conf.get(ENABLED, "true")))


def asked(options: Mapping[str, str], conf: Mapping[str, str]) -> Alignment | None:
    """Return the alignment that a stream's options and its session's conf ask for, if any."""
    if not enabled(conf):
        return None
    known = {name.lower(): name for name in (*OPTIONS, _TOKEN)}
    for key in options:
        if key.lower() not in known:
            raise ConfigurationError(f"option {key}: there is none of this name; {_near(key, OPTIONS)}")
    given = {known[key.lower()]: value for key, value in options.items()}
    switch = given.pop(ALIGN_OPTION, None)
    wanted = _switch(ALIGN, conf.get(ALIGN, "false")) if switch is None else _switch(ALIGN_OPTION, switch)
    if wanted:
        return configured(_laid_over(Alignment(), OPTION, _with_token(given, conf), "the stream's options have"), conf)
    if switch is None and given:
        raise ConfigurationError(f"option {', '.join(given)}: the stream is not aligned; set {ALIGN_OPTION} to true")
    return None


def refuse_options(options: Mapping[str, str]) -> None:
    given = sorted(key for key in options if key.lower().startswith(OPTION))
    if not given:
        return
    shown = ", ".join(key if key.lower() == _TOKEN else f"{key}={options[key]}" for key in given)
    raise ConfigurationError(
        f"option {shown}: align() does not read it, only the server's extension does. Give align() an "
        "Alignment with these values and leave the option out; or put lockgate-spark-server-VERSION.jar on the "
        "session (spark.jars) and leave align() out"
    )


def _with_token(given: dict[str, str], conf: Mapping[str, str]) -> dict[str, str]:
    if _TOKEN in given:
        raise ConfigurationError(
            f"option {_TOKEN}: Spark's UI shows options; set {PREFIX}coordinator.token in the conf, or {_TOKEN}File"
        )
    name = given.pop(TOKEN_NAME, None)
    if name is None:
        return given
    if TOKENS + name not in conf:
        raise ConfigurationError(f"option {TOKEN_NAME}={name}: Spark's conf has no {TOKENS}{name}")
    return {**given, _TOKEN: conf[TOKENS + name]}


def as_options(alignment: Alignment) -> dict[str, str]:
    """Return the options with which a stream asks for this alignment, without the token."""
    own, default = ({key: getattr(of, name) for key, name in _OPTIONS.items()} for of in (alignment, Alignment()))
    given = {key: value for key, value in own.items() if value != default[key]}
    if alignment.coordinator is not None:
        given |= {key: getattr(alignment.coordinator, name) for key, name in _COORDINATOR_OPTIONS.items()}
    return {ALIGN_OPTION: "true"} | {key: _as_text(value) for key, value in given.items()}


def _as_text(value: object) -> str:
    if isinstance(value, int | timedelta):
        return as_option(milliseconds("Alignment", value))
    return "none" if value is None else str(value)


def _switch(key: str, value: str) -> bool:
    if value.strip().lower() not in ("true", "false"):
        raise ConfigurationError(f"{key}={value}: expected true or false")
    return value.strip().lower() == "true"


def configured(alignment: Alignment, conf: Mapping[str, str]) -> Alignment:
    """Return `alignment` with the values of the conf. Log a warning about unknown keys."""
    for key in sorted(key for key in conf if key.startswith(PREFIX) and not key.startswith(TOKENS)):
        if key not in KEYS:
            log.warning("%s is unknown and has no effect; %s", key, _near(key, KEYS))
    _switch(ALIGN, conf.get(ALIGN, "false"))  # only checked here
    return _laid_over(alignment, PREFIX, conf, "Spark's conf has")


def _laid_over(alignment: Alignment, prefix: str, given: Mapping[str, str], where: str) -> Alignment:
    """Return `alignment` with the values in `given`. `where` says in errors who has set them."""

    def made(make: Callable[..., _Made], keys: Mapping[str, str]) -> _Made:
        values = {name: given[key].strip() for key, name in keys.items() if key in given}
        try:
            return make(**{name: None if value.lower() == "none" else value for name, value in values.items()})
        except ConfigurationError as error:
            raise ConfigurationError(f"{error} ({where} {named(keys)})" if values else str(error)) from None

    def named(keys: Mapping[str, str]) -> str:
        return ", ".join(key for key in keys if key in given)  # without values: one of them is a token

    keys, coordinator = _keys(Coordinator, prefix + "coordinator."), alignment.coordinator
    if named(keys):
        needed = (key for key, name in keys.items() if name in ("url", "group"))
        missing = [key for key in needed if given.get(key, "none").strip().lower() == "none"]
        if coordinator is None and missing:
            raise ConfigurationError(f"{', '.join(missing)}: not set, nor in code; set it beside {named(keys)}")
        coordinator = made(Coordinator if coordinator is None else partial(replace, coordinator), keys)
    return made(partial(replace, alignment, coordinator=coordinator), _keys(Alignment, prefix))


def _near(key: str, known: Sequence[str]) -> str:
    """Return a hint with the known names that resemble `key`, or with all if none does."""
    last = {one: one.rpartition(".")[2].lower() for one in (key, *known)}
    near = get_close_matches(last[key], [last[one] for one in known], n=2, cutoff=0.7)
    meant = [one for one in known if last[one] in near]
    return f"did you mean {' or '.join(meant)}?" if meant else f"the known names are {', '.join(known)}"
