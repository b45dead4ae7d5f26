"""The axioms of the proof are the facts of the page, and their source is said."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from induction.axioms import AXIOMS, source
from tests.support.paths import ROOT

SEEN: dict[str, Any] = {
    "time": "2027-01-02T03:04:05+00:00",
    "contradicted": [],
    "cannot_show": [],
    "axioms": [{"axiom": AXIOMS[0].text}],
}
WRONG = SEEN | {"contradicted": ["a fact"]}


def test_page_lists_the_axioms_and_no_other() -> None:
    page = (ROOT / "docs" / "proof.md").read_text(encoding="utf-8")
    facts = page.partition("the axioms of the proof:\n")[2].partition("\n\n")[0]

    listed = re.findall(r"^\d+\. \*\*(.+?)\*\*", facts, re.MULTILINE)
    assert listed == [axiom.text for axiom in AXIOMS]


@pytest.mark.parametrize(
    ("reports", "said"),
    [
        ([WRONG, SEEN], "observed on 2027-01-02"),
        ([SEEN, WRONG], AXIOMS[0].source),
        ([SEEN | {"cannot_show": ["conflicts"]}], AXIOMS[0].source),
        ([SEEN | {"axioms": []}], AXIOMS[0].source),
        ([], AXIOMS[0].source),
    ],
)
def test_axiom_is_observed_when_the_newest_report_from_aws_has_seen_it(
    tmp_path: Path, reports: list[dict[str, Any]], said: str
) -> None:
    for place, report in enumerate(reports):
        (tmp_path / f"{place}.json").write_text(json.dumps(report))

    assert source(AXIOMS[0], tmp_path) == said
