"""Clients of one emulator, which cannot reach AWS.

They ignore the user's profile, credentials, region, endpoints and proxies:
no configuration of a machine sends a local message to a real account.
"""

import os
import threading
from typing import Any, Self

import boto3
import botocore.session
from botocore.config import Config
from botocore.credentials import Credentials

REGION = "eu-west-1"

# Every configuration variable at its default: from neither environment nor file.
_NOTHING_CONFIGURED = {
    name: (None, None, default, convert)
    for name, (_, _, default, convert) in (
        botocore.session.Session.SESSION_VARIABLES.items()
    )
} | dict.fromkeys(("config_file", "credentials_file"), (None, None, os.devnull, None))

_CONFIG = Config(
    proxies={},
    # Enough for tests that send from many threads.
    max_pool_connections=50,
    # A long wait would only hide that the emulator is gone.
    retries={"mode": "standard", "total_max_attempts": 2},
)


OWNER = Credentials("test", "test")
"""The owner, with all rights in the emulator's account."""


class Clients:
    """Gives one thread-safe client for each service, and closes them all.

    The credentials matter only if the emulator controls access; it may use TLS.
    """

    def __init__(
        self,
        endpoint_url: str,
        credentials: Credentials = OWNER,
        ca_bundle: str | None = None,
    ) -> None:
        self._endpoint_url = endpoint_url
        self._verify = ca_bundle
        self._session = boto3.Session(
            aws_access_key_id=credentials.access_key,
            aws_secret_access_key=credentials.secret_key,
            aws_session_token=credentials.token,
            region_name=REGION,
            botocore_session=botocore.session.Session(_NOTHING_CONFIGURED),
        )
        self._clients: dict[str, Any] = {}
        # Clients may be shared by threads; creating them may not.
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients.values():
            client.close()

    def client(self, service_name: str) -> Any:
        """Return the client of a service, such as `sqs`."""
        with self._lock:
            if service_name not in self._clients:
                # The name is not a literal here, so no overload of the stubs fits.
                create: Any = self._session.client
                self._clients[service_name] = create(
                    service_name,
                    endpoint_url=self._endpoint_url,
                    verify=self._verify,
                    config=_CONFIG,
                )
            return self._clients[service_name]
