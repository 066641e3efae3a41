"""The pages, written as a forge shows them, become what Python-Markdown reads."""

import pytest
from markdown import Markdown
from tools.site.pages import Pages, PagesExtension, between, place

from support.imports import CHECKOUT

GUIDE = "guide/groups.md"
REPOSITORY = "https://forge.example/lockgate"


def made(text: str) -> str:
    return "\n".join([*Pages(Markdown()).run(text.splitlines()), ""])


@pytest.mark.parametrize(
    ("written", "on_the_site"),
    [
        ("../how-it-works.md#across-queries", "../how-it-works.md#across-queries"),
        ("../../README.md#try-it", "../index.md#try-it"),
        ("../../CHANGELOG.md", f"{REPOSITORY}/blob/main/CHANGELOG.md"),
        ("../../examples/enricher.py", f"{REPOSITORY}/blob/main/examples/enricher.py"),
        ("../../deploy/docker/", f"{REPOSITORY}/tree/main/deploy/docker"),
        ("#the-gate", "#the-gate"),
        ("https://semver.org/#x", "https://semver.org/#x"),
    ],
)
def test_a_link_leads_to_the_site_or_to_the_repository(written: str, on_the_site: str) -> None:
    assert place(written, GUIDE, REPOSITORY) == on_the_site


def test_a_link_to_a_source_is_text_while_the_repository_has_no_address() -> None:
    page = "[the rule](core/src/lockgate), [guide](docs/quickstart.md)"
    shown = '<p><a>the rule</a>, <a href="quickstart.md">guide</a></p>'
    assert Markdown(extensions=[PagesExtension()]).convert(page) == shown


def test_the_first_page_is_the_readme_with_its_links() -> None:
    assert (CHECKOUT / "docs/index.md").read_text(encoding="utf-8") == '--8<-- "README.md"\n'
    assert place("docs/quickstart.md", "index.md", REPOSITORY) == "quickstart.md"


def test_a_link_out_of_the_repository_is_an_error() -> None:
    with pytest.raises(ValueError, match="subpath"):
        place("../../../elsewhere.md", GUIDE, REPOSITORY)


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


def test_a_relative_link_goes_up_no_further_than_it_must() -> None:
    assert between("guide/a.md", "guide/b.md") == "b.md"
    assert between("guide/a.md", "pictures/y.png") == "../pictures/y.png"
    assert between("index.md", "guide/b.md") == "guide/b.md"
