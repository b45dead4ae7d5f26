"""What a service answers when it does not do what it was asked."""

from http import HTTPStatus
from typing import Any


class ServiceError(Exception):
    """An answer of 4xx or 5xx, before a client makes an exception of it."""

    def __init__(
        self,
        code: str,
        message: str = "",
        status: int = HTTPStatus.BAD_REQUEST,
        **members: Any,
    ) -> None:
        """Take the code, and whatever else the answer holds."""
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.status = status
        self.members = members

    def __str__(self) -> str:
        """Return all that the caller is told, so that no two answers look the same."""
        return f"{self.status:d} {self.code} {self.message} {self.members}"


def validation(message: str) -> ServiceError:
    """Return the error of a request that no service takes."""
    return ServiceError("ValidationException", message)
