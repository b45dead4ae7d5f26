"""The programs of the pages that other teams copy."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


@pytest.mark.parametrize(
    "command",
    [
        ["subscriber.py", "https://sqs.invalid/1/answers"],
        ["producer.py", "https://sqs.invalid/1/requests", "PROJ", "Title"],
    ],
    ids=lambda command: command[0],
)
def test_example_ends_without_a_traceback_when_ctrl_c_comes(command: list[str]) -> None:
    """AWS takes the connection here and does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        environment = os.environ | {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{silent.getsockname()[1]}",
            "AWS_ACCESS_KEY_ID": "x",
            "AWS_SECRET_ACCESS_KEY": "x",
            "AWS_DEFAULT_REGION": "eu-west-1",
        }
        with (
            subprocess.Popen(  # noqa: S603 - our own examples.
                [sys.executable, EXAMPLES / command[0], *command[1:]],
                env=environment,
                stderr=subprocess.PIPE,
                text=True,
            ) as program
        ):
            connection, _ = silent.accept()
            with connection:
                program.send_signal(signal.SIGINT)
                _, shown = program.communicate()

    assert (program.returncode, shown) == (130, "")


def test_messages_are_not_moved_to_the_queue_where_they_are() -> None:
    """Each would come back, and the program would never end."""
    queue_url = "https://sqs.invalid/1/requests"

    ended = subprocess.run(  # noqa: S603 - our own example.
        [sys.executable, EXAMPLES / "move_messages.py", queue_url, queue_url],
        stderr=subprocess.PIPE,
        check=False,
        text=True,
        timeout=60,
    )

    assert (ended.returncode, "same queue" in ended.stderr) == (1, True)
