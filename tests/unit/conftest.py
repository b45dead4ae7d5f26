"""Unit tests open no socket, and run far from UTC."""

import os
import time
from types import SimpleNamespace

import pytest
from pytest_socket import disable_socket

# A time that is taken as local shows.
os.environ["TZ"] = "Asia/Kathmandu"
time.tzset()


@pytest.fixture(autouse=True)
def _no_sockets() -> None:
    disable_socket()


@pytest.fixture
def no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let botocore's clients try again without delay."""
    time_ = SimpleNamespace(sleep=lambda _: None)
    monkeypatch.setattr("botocore.endpoint.time", time_)
