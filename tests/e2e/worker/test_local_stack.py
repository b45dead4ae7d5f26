"""The local system: its isolation, its errors, and its leftovers."""

import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.e2e.conftest import USERS_SHELL, System, wait_until
from tests.support.builders import ticket_fields
from tests.support.paths import ROOT
from tests.support.proxy import workers
from ticketctl.cli.errors import ToolError
from ticketctl.local.artifact import build_artifact
from ticketctl.local.clients import Clients
from ticketctl.local.deployment import deploy
from ticketctl.local.emulator import running_emulator
from ticketctl.local.environments import UV_ENVIRONMENT, make_environment
from ticketctl.local.stack import TEMPLATE, LocalStack, local_stack

pytestmark = pytest.mark.emulator

_BROKEN = """
  Broken:
    Type: AWS::KMS::Alias
    Properties:
      AliasName: without-prefix
      TargetKeyId: any

Outputs:"""


class TestIsolation:
    """The machine and its network do not reach the system."""

    def test_emulator_listens_on_loopback_only(self, deployed: LocalStack) -> None:
        emulator = psutil.Process(deployed.emulator.process.pid)

        addresses = {
            (connection.laddr.ip, connection.laddr.port)
            for process in (emulator, *emulator.children(recursive=True))
            for connection in process.net_connections()
            if connection.status == psutil.CONN_LISTEN
        }

        assert addresses == {("127.0.0.1", deployed.emulator.port)}

    def test_function_sees_nothing_of_the_users_shell(
        self, system: System, project: str
    ) -> None:
        """A variable that a machine happens to have cannot make the function work."""
        system.send(ticket_fields(project))
        system.wait_for(lambda: system.events(project))

        environment = workers(system.stack.emulator)[0].environ()

        assert "TICKETS_TABLE" in environment
        assert environment["AWS_ENDPOINT_URL"] == system.stack.endpoint_url
        assert not environment.keys() & (USERS_SHELL.keys() - {"AWS_ENDPOINT_URL"})
        assert "PYTHONPATH" not in environment


class TestFailure:
    """Errors name their cause and place."""

    @pytest.mark.parametrize("name", ["artifact", "env", UV_ENVIRONMENT.name])
    def test_nothing_is_installed_when_a_package_has_no_hash(
        self, tmp_path: Path, name: str
    ) -> None:
        """With any installer; a line reports it, and nothing counts as ready."""
        requirements = tmp_path / "requirements.txt"
        wheel = tmp_path / "greeting-1.0-py3-none-any.whl"
        wheel.touch()
        requirements.write_text(f"greeting @ {wheel.as_uri()}\n")
        directory = tmp_path / name
        install = partial(make_environment, directory, requirements)
        artifact = partial(build_artifact, source=tmp_path, build_directory=directory)

        with pytest.raises(ToolError, match=r"(?i)could not install.*hash") as caught:
            (artifact if name == "artifact" else install)()

        assert "\n" not in str(caught.value)
        assert not (directory / "ready").exists()

    @pytest.mark.parametrize(
        ("parameters", "reason"),
        [
            ({"Misspelt": "1"}, "Misspelt"),
            ({"BatchSize": "11"}, "Set MaximumBatchingWindow to 1 or more"),
            ({"BatchSize": "0"}, "must be 1 to 1000"),
            ({}, r"Broken \(AWS::KMS::.*without-pr"),
        ],
        ids=["parameter", "rule", "constraint", "resource"],
    )
    def test_deployment_says_why_it_is_refused_and_nothing_is_made(
        self, tmp_path: Path, parameters: dict[str, str], reason: str
    ) -> None:
        template = tmp_path / "template.yaml"
        template.write_text(TEMPLATE.read_text().replace("\nOutputs:", _BROKEN))

        with running_emulator() as emulator, Clients(emulator.endpoint_url) as clients:
            with pytest.raises(ToolError, match=reason):
                deploy(clients, template, build_artifact(), parameters)

            assert not clients.client("lambda").list_functions()["Functions"]

    def test_emulator_says_why_it_does_not_start(self) -> None:
        missing = pytest.raises(ToolError, match="No module named 'ministack'")
        with missing, running_emulator(Path(sys.executable)):
            pytest.fail("started")

    def test_emulator_says_that_it_died_when_it_was_killed(self) -> None:
        def go_on_without_it() -> None:
            with (
                running_emulator() as emulator,
                Clients(emulator.endpoint_url) as clients,
            ):
                emulator.process.kill()
                clients.client("sqs").list_queues()

        with pytest.raises(ToolError, match="died, and all tickets with it"):
            go_on_without_it()


class TestStop:
    """Nothing outlives the process that asked for the emulator."""

    def test_stop_leaves_no_process_and_no_file_when_the_block_fails(self) -> None:
        processes: list[psutil.Process] = []
        homes: list[Path] = []

        def interrupt_at_work() -> None:
            with local_stack() as stack:
                queue_url = stack.outputs["CreateTicketQueueUrl"]
                stack.client("sqs").send_message(QueueUrl=queue_url, MessageBody="{}")
                wait_until(lambda: workers(stack.emulator))
                processes.append(psutil.Process(stack.emulator.process.pid))
                processes.extend(workers(stack.emulator))
                homes.append(stack.emulator.home)
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupt_at_work()

        wait_until(lambda: not any(map(_is_alive, processes)))
        assert len(processes) >= 2
        assert not homes[0].exists()

    def test_emulator_ends_when_its_starter_is_killed(self) -> None:
        code = (
            "from ticketctl.local.emulator import running_emulator\n"
            "with running_emulator() as emulator:\n"
            "    print(emulator.process.pid, emulator.home, flush=True)\n"
            "    input()\n"
        )
        with subprocess.Popen(  # noqa: S603 - fixed arguments.
            [sys.executable, "-c", code],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as starter:
            assert starter.stdout
            pid, home = starter.stdout.readline().split()
            emulator = psutil.Process(int(pid))
            starter.send_signal(signal.SIGKILL)

        wait_until(lambda: not _is_alive(emulator))
        wait_until(lambda: not Path(home).exists())


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
