"""The templates for subscribers in docs/consuming.md can be deployed."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from cfnlint.decode.cfn_yaml import loads  # type: ignore[import-untyped]

from ticket_numbering.messages import AssignedTicket
from ticketctl.system.queues import topic_may_send
from ticketctl.watch.announcements import ASSIGNED, VOIDED

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


def test_snippets_have_no_findings_when_linted(tmp_path: Path) -> None:
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


def test_topic_may_send_to_the_queues_and_no_other_topic_may() -> None:
    """The same statement that the tools write, for both queues."""
    [tools] = json.loads(topic_may_send("queue", "topic"))["Statement"]
    policy = resources()["TopicMaySend"]["Properties"]["PolicyDocument"]
    [statement] = policy["Statement"]

    assert statement["Principal"] == tools["Principal"]
    assert statement["Action"] == tools["Action"]
    assert list(statement["Condition"]["ArnEquals"]) == ["aws:SourceArn"]


def test_filters_name_what_is_announced() -> None:
    policy = resources()["Subscription"]["Properties"]["FilterPolicy"]
    pipe = resources()["Pipe"]["Properties"]["SourceParameters"]
    [pattern] = pipe["FilterCriteria"]["Filters"]

    assert set(policy) == {"event_type", "project_id", "priority"}
    assert policy["event_type"] == [ASSIGNED]
    assert json.loads(pattern["Pattern"])["body"]["type"] == [ASSIGNED]


def test_page_names_each_type_and_field_that_a_subscriber_gets() -> None:
    page = PAGE.read_text()
    row = next(line for line in page.splitlines() if ASSIGNED in line)

    assert re.findall(r"`(\w+)`", row.split(" | ")[2]) == list(
        AssignedTicket.model_fields
    )
    assert f"`{VOIDED}`" in page
