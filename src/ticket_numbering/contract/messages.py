"""The request: CreateTicket, its identity, its fingerprint, its number.

A body that is not a valid CreateTicket is refused with a reason that names the field.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ticket_numbering.contract.chain import canonical_json
from ticket_numbering.contract.errors import InvalidMessageError, TicketTooLargeError
from ticket_numbering.contract.field_types import (
    Attributes,
    Description,
    IdempotencyKey,
    Labels,
    MaxNumber,
    ProjectId,
    Reporter,
    Title,
    is_idempotency_key,
    is_project_id,
    or_null,
)
from ticket_numbering.contract.json_body import (
    fault_of,
    json_object,
    problems,
    reject_envelope,
    reject_many_names,
)
from ticket_numbering.contract.values import MAX_NUMBER, Priority

MAX_BODY_BYTES: Final = 256 * 1024
"""Keeps every valid ticket well under DynamoDB's item limit of 400 KB."""

FINGERPRINT_VERSION: Final = "v1"

_NO_CONTENT: Final = {"max_number"}
"""The conditions of a request, which its ticket does not store."""


class RequestKey(NamedTuple):
    """The caller's identity of a request, which has one number for ever."""

    project_id: str
    idempotency_key: str


RequestIdentity = tuple[RequestKey, str]
"""A key and a fingerprint, equal only for repeats of one request."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The number of a request, as the record of its idempotency key has it."""

    number: int
    fingerprint: str
    assigned_at: str
    chain: str | None = None
    """The ticket's hash; None if a seed or an import wrote it."""


class CreateTicket(BaseModel):
    """Asks for one ticket in a project; one JSON object without unknown fields."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    project_id: ProjectId = Field(
        description="The scope of the number sequence.", examples=["PROJ"]
    )
    idempotency_key: IdempotencyKey = Field(
        description="Chosen by the producer; the same key never gets a second number.",
        examples=["order-4712-complaint-1"],
    )
    title: Title = Field(
        description="The subject of the ticket.",
        examples=["The caf\u00e9's export loses line breaks"],
    )
    max_number: MaxNumber | None = Field(
        default=None,
        description="The highest number that the request accepts; it is refused once "
        "the project's numbers have reached it. Not a part of the ticket: a request "
        "that has its number keeps it.",
        examples=[500],
    )
    description: Description | None = Field(
        default=None,
        description="Text; line breaks and tabs are kept.",
        examples=["Export the customers.\n\tAddresses are then on one line."],
    )
    priority: Annotated[Priority, or_null(Priority)] = Field(
        default="medium", description="How urgent the ticket is.", examples=["high"]
    )
    reporter: Reporter | None = Field(
        default=None,
        description="Who reports it: a name or an address, on one line.",
        examples=["ada@example.com"],
    )
    labels: Annotated[Labels, or_null(Labels)] = Field(
        default=[],
        description="Words to find the ticket by, in order.",
        examples=[["export", "all customers"]],
    )
    attributes: Annotated[Attributes, or_null(Attributes)] = Field(
        default={},
        description="A flat object of strings for the producer's own use.",
        examples=[{"customer_id": "C-311", "channel": "email"}],
    )

    @cached_property
    def key(self) -> RequestKey:
        """The caller's identity of the request."""
        return RequestKey(self.project_id, self.idempotency_key)

    @property
    def identity(self) -> RequestIdentity:
        """The key and the fingerprint."""
        return self.key, self.fingerprint

    @property
    def cap(self) -> int:
        """The highest number that the request accepts."""
        return MAX_NUMBER if self.max_number is None else self.max_number

    def accepts(self, number: int) -> bool:
        """Tell whether the number does not exceed the request's cap."""
        return number <= self.cap

    def content(self) -> dict[str, Any]:
        """Return the ticket's fields, without the cap and those at their defaults."""
        return self.model_dump(exclude_defaults=True, exclude=_NO_CONTENT)

    @cached_property
    def fingerprint(self) -> str:
        """Versioned SHA-256 of the content.

        A new field with a default leaves the fingerprints of older messages unchanged.
        """
        return _fingerprint(self.content())

    @cached_property
    def size(self) -> int:
        """Upper bound of the UTF-8 bytes of the request's names and values.

        At most the size of the body, because compact JSON escapes as few as possible.
        """
        return len(self.model_dump_json(exclude_defaults=True).encode())

    def matches(self, fingerprint: str) -> bool:
        """Tell whether a recorded fingerprint can belong to this request.

        A fingerprint of another version is trusted: two versions of the worker side by
        side must not dead-letter repeats of each other's requests.
        """
        version, _, _ = fingerprint.partition(":")
        return version != FINGERPRINT_VERSION or fingerprint == self.fingerprint

    @classmethod
    def parse(cls, body: str) -> "CreateTicket":
        """Read a message body.

        Raises:
            InvalidMessageError: The body is not a valid CreateTicket.
            TicketTooLargeError: The body exceeds `MAX_BODY_BYTES`.
        """
        size = len(body.encode(errors="surrogatepass"))
        if size > MAX_BODY_BYTES:
            problem = f"body: {size} bytes, at most {MAX_BODY_BYTES} are allowed"
            error = TicketTooLargeError(problem)
            error.key = cls.key_of(body)
            raise error
        fields = json_object(body)
        try:
            return cls._of(fields)
        except InvalidMessageError as invalid:
            invalid.key = _key_in(fields)
            raise

    @classmethod
    def _of(cls, fields: Mapping[str, Any]) -> "CreateTicket":
        reject_many_names(fields)
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            reject_envelope(fields)
            fault = fault_of(error, cls.model_fields)
            raise InvalidMessageError(problems(error), *fault) from error

    @classmethod
    def key_of(cls, body: str) -> RequestKey | None:
        """Return the key of a body that has one, even if the request is invalid."""
        try:
            return _key_in(json_object(body))
        except InvalidMessageError:
            return None


def _key_in(fields: Mapping[str, Any]) -> RequestKey | None:
    project_id, key = fields.get("project_id"), fields.get("idempotency_key")
    if is_project_id(project_id) and is_idempotency_key(key):
        return RequestKey(project_id, key)
    return None


CONTENT_DEFAULTS: Final = {
    name: field.get_default()
    for name, field in CreateTicket.model_fields.items()
    if name not in _NO_CONTENT
}
"""The fields of a ticket's content; a required one has an undefined default."""


def stored_fingerprint(ticket: Mapping[str, Any]) -> str:
    """Return the fingerprint of a ticket's stored text, valid or not.

    A ticket always stores the priority, and no other field that is at its default.

    Raises:
        TypeError: The text has a value that no request can have.
    """
    content = {name: ticket[name] for name in CONTENT_DEFAULTS if name in ticket}
    if content.get("priority") == CONTENT_DEFAULTS["priority"]:
        del content["priority"]
    return _fingerprint(content)


def _fingerprint(content: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(canonical_json(content).encode()).hexdigest()
    return f"{FINGERPRINT_VERSION}:{digest}"
