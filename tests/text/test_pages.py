"""What the pages show can be typed, and what they point at is there.

Goal: no page shows a statement that fails, or names a file, target or option that does not exist.
Method: every block of SQL of the overview pages is run, in order, in a schema of the page's own; those of the
pages of statements are run by tests/postgres/test_statement_pages.py.  Of all
pages, every link is followed, every path of this repository is looked up, every target of make
is sought in the Makefile, every test in its file and every option of ours in the command line.
"""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from headwater.cli import main
from tests.support.here import Here
from tests.support.pages import FOLDER, blocks, type_in
from tests.support.server import HeadwaterServer

ROOT = Path(__file__).parents[2]
PAGES = (
    "quickstart",
    "sources-and-tables",
    "legacy-sources",
    "load-generators",
    "secrets-and-connections",
    "reading",
    "subscribe",
    "webhooks",
    "operations",
    "roles",
    "security",
)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
_PATH = re.compile(r"`((?:headwater|tests|docs|scripts)/[\w./-]*)`")
_TOKEN = re.compile(r"`([\w./-]+)`")
_MAKE = re.compile(r"(?:(?<=`)|^ {4}(?=make [a-z]+(?:  |$)))make ([a-z]+)", re.MULTILINE)
_COMMAND = re.compile(r"(?:`|^ {4})(?:\.venv/bin/)?headwater +([a-z]+)((?: +[^\n`]*)?)", re.MULTILINE)
_OPTION = re.compile(r"--[a-z][a-z-]+")
_PATTERN_OF_NAMES = "docs/decisions/NNNN-title.md"

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
each_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=[str(path.relative_to(ROOT)) for path in DOCUMENTS]
)


@pytest.mark.parametrize("page", PAGES)
def test_every_statement_of_the_page_runs(server: HeadwaterServer, page: str) -> None:
    here = Here(server, "page_" + page.replace("-", "_"))
    here.run("SET statement_timeout = '120s'")
    for _, block in blocks(FOLDER / f"{page}.md", "sql"):
        type_in(here.session, block)
    here.close()


def anchors(text: str) -> set[str]:
    """The names by which headings can be pointed at."""
    bare = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(text))
    return {heading.strip().replace(" ", "-") for heading in bare}


@each_document
def test_every_link_leads_somewhere(document: Path) -> None:
    for link in _LINK.findall(document.read_text()):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        assert target.exists(), f"{link} is not there"
        if anchor:
            assert anchor in anchors(target.read_text()), f"{link} has no such heading"


@each_document
def test_every_path_of_this_repository_exists(document: Path) -> None:
    for path in set(_PATH.findall(document.read_text())) - {_PATTERN_OF_NAMES}:
        assert (ROOT / path).exists(), path


@each_document
def test_every_test_that_is_named_exists(document: Path) -> None:
    """`tests/..py`: `test_..`, `test_..`."""
    text = ""
    for token in _TOKEN.findall(document.read_text()):
        if token.startswith("tests/") and token.endswith((".py", ".td")):
            text = (ROOT / token).read_text()
        elif token.startswith("test_"):
            assert f"def {token}(" in text, token


@each_document
def test_every_target_of_make_exists(document: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(_MAKE.findall(document.read_text())) <= targets


@each_document
def test_every_command_and_option_of_ours_exists(document: Path) -> None:
    for name, words in _COMMAND.findall(document.read_text()):
        if name == "ready":  # the line that a server prints
            continue
        assert name in main.commands, f"headwater {name}"
        known = {
            option
            for parameter in main.commands[name].params
            if isinstance(parameter, click.Option)
            for option in parameter.opts
        }
        assert set(_OPTION.findall(words)) <= known | {"--help"}, f"headwater {name}{words}"


def test_the_readme_leads_to_every_kind_of_page() -> None:
    links = _LINK.findall((ROOT / "README.md").read_text())
    for page in (
        "docs/architecture.md",
        "docs/style.md",
        "docs/benchmarks.md",
        "docs/decisions",
        "docs/user/",
    ):
        assert any(link.startswith(page) for link in links), page


def test_every_page_for_users_can_be_reached_from_the_index() -> None:
    reached, waiting = set(), [FOLDER / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        links = (link.partition("#")[0] for link in _LINK.findall(page.read_text()))
        waiting += [(page.parent / link).resolve() for link in links if link and "://" not in link]
    assert set(FOLDER.rglob("*.md")) - reached == set()
