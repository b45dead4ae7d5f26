"""The axioms of the proof are the facts of the page, and their source is said."""

import json
from pathlib import Path
from typing import Any

import pytest

from induction.axioms import AXIOMS, source
from tests.support.markdown_commands import ROOT

SEEN: dict[str, Any] = {
    "time": "2027-01-02T03:04:05+00:00",
    "contradicted": [],
    "cannot_show": [],
}


def test_page_states_each_axiom() -> None:
    page = (ROOT / "docs" / "proof.md").read_text(encoding="utf-8")

    assert [one.text for one in AXIOMS if f"**{one.text}**" not in page] == []


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (SEEN, "observed on 2027-01-02"),
        (SEEN | {"contradicted": ["a fact"]}, "documented"),
        (SEEN | {"cannot_show": ["conflicts"]}, "documented"),
        (None, "documented"),
    ],
)
def test_axioms_are_observed_when_a_report_from_aws_contradicts_none(
    tmp_path: Path, report: dict[str, Any] | None, said: str
) -> None:
    if report:
        (tmp_path / "report.json").write_text(json.dumps(report))

    assert source(tmp_path) == said
