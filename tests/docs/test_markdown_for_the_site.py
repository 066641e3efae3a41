"""A page as a forge shows it becomes a page as Zensical reads it."""

from pathlib import Path

import pytest
from website.markdown import for_the_site
from website.pages import between, own_pages, place

from support.imports import CHECKOUT

GUIDE = CHECKOUT / "docs/guide/groups.md"


def made(text: str, origin: Path = GUIDE) -> str:
    return for_the_site(text, origin, lambda _: None)


@pytest.mark.parametrize(
    ("written", "on_the_site"),
    [
        ("[why](../why.md#across-queries)", "[why](../why.md#across-queries)"),
        ("[README](../../README.md#try-it)", "[README](../index.md#try-it)"),
        ("[changes](../../CHANGELOG.md)", "[changes](../project/changelog.md)"),
        ("[`a`](../../examples/two_applications.py)", "[`a`](../files/examples/two_applications.py.md)"),
        ("[room](../../core/src/lockgate/plan/)", "[room](../files/core/src/lockgate/plan/index.md)"),
        ("[here](#the-gate)", "[here](#the-gate)"),
        ("[there](https://semver.org/#x)", "[there](https://semver.org/#x)"),
        ("`[code](../why.md#x)`", "`[code](../why.md#x)`"),
    ],
)
def test_a_link_gets_the_path_of_the_site(written: str, on_the_site: str) -> None:
    assert made(written) == f"{on_the_site}\n"


def test_a_link_out_of_the_repository_is_an_error() -> None:
    with pytest.raises(ValueError, match="subpath"):
        made("[x](../../../elsewhere.md)")


def test_links_in_code_stay_as_they_are() -> None:
    code = "```text\n[a](../../README.md)\n```\n"

    assert made(code) == code


def test_a_bar_in_a_code_span_of_a_table_has_no_backslash() -> None:
    assert made("| a |\n|---|\n| `str \\| None` |").splitlines()[-1] == "| `str | None` |"
    assert made("`str \\| None`") == "`str \\| None`\n"


def test_comments_for_tests_are_left_out() -> None:
    assert made("<!-- not run: needs Docker -->\n```bash\nls\n```") == "```bash\nls\n```\n"


def test_a_list_a_table_and_code_get_an_empty_line_before_them() -> None:
    assert made("Such as:\n* one,\n  more of it\n* two") == "Such as:\n\n* one,\n    more of it\n* two\n"
    assert made("Such as:\n| a |\n|---|\n| b |") == "Such as:\n\n| a |\n|---|\n| b |\n"
    assert made("Such as:\n```text\nx\n```\nand") == "Such as:\n\n```text\nx\n```\nand\n"


def test_a_nested_list_is_four_blanks_further_in() -> None:
    assert made("1. one\n   * in it\n     and on\n2. two") == "1. one\n    * in it\n        and on\n2. two\n"


def test_a_paragraph_after_a_list_is_not_part_of_it() -> None:
    assert made("* one\n\nAfter it.\n  (further in)") == "* one\n\nAfter it.\n  (further in)\n"


def test_every_page_has_a_place_of_its_own() -> None:
    places = list(own_pages().values())

    assert len(places) == len(set(places))
    assert place(CHECKOUT / "README.md") == "index.md"


def test_a_relative_link_goes_up_no_further_than_it_must() -> None:
    assert between("guide/a.md", "guide/b.md") == "b.md"
    assert between("guide/a.md", "files/x/y.md") == "../files/x/y.md"
    assert between("index.md", "guide/b.md") == "guide/b.md"
