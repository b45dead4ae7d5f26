"""Unit tests open no socket, and run far from UTC."""

import os
import time

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
    """Skip every pause, those of botocore's retries too."""
    monkeypatch.setattr("time.sleep", lambda _: None)
