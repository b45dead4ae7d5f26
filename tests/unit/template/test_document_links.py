"""A link of a page leads to a file, and to a heading in it."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.markdown_commands import MARKDOWN, ROOT, pages


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of a page's headings."""
    tokens = MARKDOWN.parse(page.read_text(encoding="utf-8"))
    headings = [
        text.content for token, text in pairwise(tokens) if token.type == "heading_open"
    ]
    return {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }


def links(page: Path) -> Iterator[str]:
    """Return where a page's links and images lead within the repository."""
    for token in MARKDOWN.parse(page.read_text(encoding="utf-8")):
        for child in token.children or []:
            target = str(child.attrGet("href") or child.attrGet("src") or "")
            if target and ":" not in target:
                yield target


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_links_are_found() -> None:
    assert "docs/proof.md" in links(ROOT / "README.md")
    assert "the-model" in anchors(ROOT / "docs" / "proof.md")
