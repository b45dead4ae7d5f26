"""The template for subscribers of docs/consuming.md takes what is announced."""

import json
from pathlib import Path
from typing import Any, Final

from samtranslator.yaml_helper import yaml_parse

from tests.support.markdown_commands import blocks
from ticket_numbering.contract.field_types import PRIORITIES
from ticketctl.aws.announcements import ASSIGNED, ERASED, REFUSED, VOIDED
from ticketctl.aws.topic import topic_may_send
from ticketctl.commands.verify import PROJECT_START

DOCS: Final = Path(__file__).parents[3] / "docs"
PAGE: Final = DOCS / "consuming.md"
TEMPLATE: Final = DOCS / "examples/subscription.yaml"
ANSWERS, REAL_ONES = map(yaml_parse, blocks(PAGE.read_text(), "yaml"))
RESOURCES: Final[dict[str, Any]] = yaml_parse(TEMPLATE.read_text())["Resources"]


def test_topic_may_send_to_the_queues_and_no_other_topic_may() -> None:
    """The same statement that the tools write, for both queues."""
    [tools] = json.loads(topic_may_send("queue", "topic"))["Statement"]
    policy = RESOURCES["TopicMaySend"]["Properties"]["PolicyDocument"]
    [statement] = policy["Statement"]

    assert statement["Principal"] == tools["Principal"]
    assert statement["Action"] == tools["Action"]
    assert list(statement["Condition"]["ArnEquals"]) == ["aws:SourceArn"]


def test_filters_name_what_is_announced() -> None:
    policy = RESOURCES["Subscription"]["Properties"]["FilterPolicy"]
    *_, pattern = map(json.loads, blocks(PAGE.read_text(), "json"))

    assert set(policy) == {"event_type", "project_id", "priority"}
    assert policy["event_type"] == [ASSIGNED]
    priorities = {*policy["priority"], *pattern["body"]["data"]["priority"]}
    assert priorities <= {*PRIORITIES}
    assert pattern["body"]["type"] == [ASSIGNED]


def test_filter_of_a_producer_lets_numbers_and_refusals_of_its_keys_through() -> None:
    [(name, policy)] = ANSWERS.items()

    assert name in RESOURCES["Subscription"]["Properties"]
    assert policy["event_type"] == [ASSIGNED, REFUSED]
    assert set(policy) == {"event_type", "idempotency_key"}


def test_filter_against_test_tickets_leaves_out_the_projects_of_verify() -> None:
    [policy] = REAL_ONES.values()

    assert policy == {"project_id": [{"anything-but": {"prefix": PROJECT_START}}]}


def test_page_names_each_type_that_a_subscriber_gets() -> None:
    page = PAGE.read_text()

    for event_type in (ASSIGNED, REFUSED, VOIDED, ERASED):
        assert f"`{event_type}`" in page
