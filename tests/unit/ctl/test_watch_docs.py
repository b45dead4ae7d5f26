"""What the page for subscribers tells them to deploy can be deployed."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from cfnlint.decode.cfn_yaml import loads  # type: ignore[import-untyped]

from ticket_numbering.messages import AssignedTicket
from ticketctl.system.queues import topic_may_send
from ticketctl.watch.heard import ASSIGNED, VOIDED

PAGE: Final = Path(__file__).parents[3] / "docs/consuming.md"
LINTER: Final = Path(sys.executable).with_name("cfn-lint")
SNIPPETS: Final = re.findall(
    r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE
)


def resources() -> dict[str, Any]:
    """Return the resources of all snippets, by logical id."""
    return {
        name: resource
        for snippet in SNIPPETS
        for name, resource in loads(snippet)["Resources"].items()
    }


class TestSnippetsCanBeDeployed:
    """They are whole templates, without what the linter finds wrong."""

    def test_snippets_have_no_findings_when_linted(self, tmp_path: Path) -> None:
        """All of them at once, for starting the linter is what takes time."""
        paths = [tmp_path / f"{place}.yaml" for place in range(len(SNIPPETS))]
        for path, snippet in zip(paths, SNIPPETS, strict=True):
            path.write_text(snippet)

        linted = subprocess.run(  # noqa: S603 - our own linter.
            [LINTER, "--regions", "eu-west-1", "--", *paths],
            capture_output=True,
            text=True,
            check=False,
        )

        assert (linted.returncode, linted.stdout, linted.stderr) == (0, "", "")
        assert len(paths) == 3

    def test_topic_may_send_to_the_queues_and_no_other_topic_may(self) -> None:
        """The same statement that the tools write, for both queues."""
        [tools] = json.loads(topic_may_send("queue", "topic"))["Statement"]
        policy = resources()["TopicMaySend"]["Properties"]["PolicyDocument"]
        [statement] = policy["Statement"]

        assert statement["Principal"] == tools["Principal"]
        assert statement["Action"] == tools["Action"]
        assert list(statement["Condition"]["ArnEquals"]) == ["aws:SourceArn"]

    def test_filters_name_what_is_announced(self) -> None:
        """Types and names of the contract, within the limits of SNS."""
        policy = resources()["Subscription"]["Properties"]["FilterPolicy"]
        pipe = resources()["Pipe"]["Properties"]["SourceParameters"]
        [pattern] = pipe["FilterCriteria"]["Filters"]

        assert set(policy) == {"event_type", "project_id", "priority"}
        assert policy["event_type"] == [ASSIGNED]
        assert json.loads(pattern["Pattern"])["body"]["type"] == [ASSIGNED]

    @pytest.mark.parametrize("kind", [ASSIGNED, VOIDED])
    def test_page_names_each_type_that_the_tools_know(self, kind: str) -> None:
        """Whoever subscribes can choose among them."""
        assert f"`{kind}`" in PAGE.read_text()

    def test_page_names_each_field_of_an_announcement(self) -> None:
        [row] = [line for line in PAGE.read_text().splitlines() if ASSIGNED in line][:1]

        fields = re.findall(r"`(\w+)`", row.split(" | ")[2])
        assert fields == list(AssignedTicket.model_fields)
