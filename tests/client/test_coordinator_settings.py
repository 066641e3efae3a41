"""The settings of a coordinator and a group: what is refused, and how."""

import re

import pytest

from lockgate_http.config import Coordinator
from lockgate_http.errors import ConfigurationError

URL = "http://127.0.0.1:8080"


@pytest.mark.parametrize(
    "bad",
    [
        *("", "localhost:8080", "ftp://host", "http://", "http://host:port", "http://[::1", 8080, None),
        *("http://u:secret@host", "http://:secret@host", "http://user@host", "http://host:8080\n", "http://ho st"),
    ],
)
def test_a_malformed_coordinator_url_is_refused_without_repeating_it(bad: object) -> None:
    with pytest.raises(ConfigurationError, match=r"http://HOST:PORT") as caught:
        Coordinator(bad, group="g")  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["a/b", ".", ".."])
@pytest.mark.parametrize("key", ["group", "source"])
def test_a_name_that_the_protocol_has_no_room_for_is_refused(key: str, name: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"{key}='{re.escape(name)}'\): must be 1 to 255"):
        Coordinator(URL, **{"group": "g", key: name})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("catch_up", "eager"),
        ("on_outage", "panic"),
        ("timeout", 0),
        ("timeout", "soon"),
        ("hold_for", "long"),
        ("max_batch", 0),
        ("park", 0),
    ],
)
def test_a_value_that_is_none_is_refused_by_its_key(key: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=key):
        Coordinator(URL, group="g", **{key: value})  # type: ignore[arg-type]
