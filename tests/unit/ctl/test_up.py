"""The notes of `ticketctl up` on containers, with and without an engine."""

import platform
import socket
from types import SimpleNamespace

import psutil
import pytest

from ticketctl.local.session import invocation

COLUMNS = 80
ADDRESS = SimpleNamespace(family=socket.AF_INET, address="172.17.0.1")


@pytest.mark.parametrize(
    ("system", "networks", "words"),
    [
        ("Linux", {"docker0": [ADDRESS]}, "make invoke"),
        ("Linux", {"lo": [ADDRESS]}, "Start Docker"),
        ("Linux", {"docker0": []}, "Start Docker"),
        ("Darwin", {}, "make invoke"),
    ],
)
def test_up_names_the_invocation_or_the_remedy_when_an_engine_runs_or_not(
    system: str,
    networks: dict[str, list[object]],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: networks)

    assert words in invocation()
    assert max(map(len, invocation().splitlines())) <= COLUMNS
