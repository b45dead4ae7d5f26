"""The programs that stand on the pages, and the subscription beside them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.conftest import System, killed_at_end, wait_until
from tests.support.ctl_process import Ctl
from tests.support.markdown_commands import blocks
from tests.support.paths import EXAMPLES, ROOT

pytestmark = pytest.mark.emulator

STACK = "my-announcements"


def program(page: str) -> list[str]:
    """Return the command of a page's program in Python."""
    [text] = blocks((ROOT / "docs" / page).read_text(encoding="utf-8"), "python")
    return [sys.executable, "-Iu", "-c", text]


@pytest.fixture
def queue_url(system: System) -> Iterator[str]:
    """Return the URL of the queue that the example subscribes."""
    cloudformation = system.stack.client("cloudformation")
    topic = system.stack.outputs["AssignmentsTopicArn"]
    cloudformation.create_stack(
        StackName=STACK,
        TemplateBody=(EXAMPLES / "subscription.yaml").read_text(encoding="utf-8"),
        Parameters=[{"ParameterKey": "AssignmentsTopicArn", "ParameterValue": topic}],
    )

    def outputs() -> dict[str, Any]:
        [stack] = cloudformation.describe_stacks(StackName=STACK)["Stacks"]
        listed = stack.get("Outputs", [])
        return {output["OutputKey"]: output["OutputValue"] for output in listed}

    yield wait_until(outputs)["QueueUrl"]
    cloudformation.delete_stack(StackName=STACK)


def test_request_of_the_page_arrives_at_the_consumer_of_the_other_page(
    ctl: Ctl, system: System, queue_url: str
) -> None:
    """And so does the refusal of another request under its key."""
    create_ticket_url = system.stack.outputs["CreateTicketQueueUrl"]
    environment = ctl.process_environment | {
        "CREATE_TICKET_QUEUE_URL": create_ticket_url,
        "QUEUE_URL": queue_url,
    }

    sent = subprocess.run(  # noqa: S603 - our own page.
        program("producing.md"),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    process = subprocess.Popen(  # noqa: S603 - our own page.
        program("consuming.md"),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )
    with killed_at_end(process) as consumer:
        assert consumer.stdout
        number = consumer.stdout.readline()
        other = {"project_id": "PROJ", "idempotency_key": "form-7f3a", "title": "Other"}
        system.send(json.dumps(other))
        refusal = consumer.stdout.readline()

    assert len(sent.stdout.strip()) == 36
    assert number.startswith("PROJ-")
    assert number.endswith(" Login page flickers\n")
    assert refusal == "form-7f3a refused idempotency_key key_reused\n"
