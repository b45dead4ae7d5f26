"""The errors of the services."""

from http import HTTPStatus
from typing import Any


class ServiceError(Exception):
    """An answer of 4xx or 5xx, before the client turns it into a ClientError."""

    def __init__(
        self,
        code: str,
        message: str = "",
        status: int = HTTPStatus.BAD_REQUEST,
        **members: Any,
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.status = status
        self.members = members

    def __str__(self) -> str:
        """Return the whole answer, so that no two answers look the same."""
        return f"{self.status:d} {self.code} {self.message} {self.members}"


def validation(message: str) -> ServiceError:
    """Return the error of an invalid request."""
    return ServiceError("ValidationException", message)
