"""The reasons of a refusal as codes, each with its meaning and its remedy.

No code contains a text of the producer.
"""

from enum import StrEnum
from typing import Self


class Reason(StrEnum):
    """Why a message is refused; if a field has several reasons, the first counts.

    The reason is a function of the error's type, its field and the body, so the content
    of an event is a function of its id. No member may change its meaning or its place
    in the order.
    """

    meaning: str
    """The meaning, for the reference page."""
    remedy: str
    """The producer's remedy, for the reference page."""

    def __new__(cls, code: str, meaning: str, remedy: str) -> Self:
        """Make a member that is equal to its code."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.meaning, member.remedy = meaning, remedy
        return member

    NOT_JSON = (
        "not_json",
        "The body is not one JSON object, or begins with a byte-order mark.",
        "Send one JSON object, in UTF-8.",
    )
    REPEATED_NAME = (
        "repeated_name",
        "An object has a name twice.",
        "Name each field once.",
    )
    TOO_LARGE = (
        "too_large",
        "The body, or the ticket, exceeds the size that the system can hold.",
        "Shorten the texts.",
    )
    ENVELOPE = (
        "envelope",
        "The body is an envelope of another service, such as SNS or EventBridge.",
        "Send the request alone.",
    )
    MISSING = (
        "missing",
        "The field is required, and absent.",
        "Add it.",
    )
    UNKNOWN_FIELD = (
        "unknown_field",
        "The body has a field that the worker does not know.",
        "Correct its name, or leave it out.",
    )
    TOO_MANY = (
        "too_many",
        "A list or an object has too many members.",
        "Send fewer.",
    )
    LONE_SURROGATE = (
        "lone_surrogate",
        "A text, or the name of a field, has half of a surrogate pair.",
        "Cut texts between characters, not between UTF-16 units.",
    )
    UNKNOWN_VALUE = (
        "unknown_value",
        "The value is none of the field's values.",
        "Send one of them, in lower case.",
    )
    WRONG_TYPE = (
        "wrong_type",
        "The value is of another JSON type; `null` in a required field is, too.",
        "Send the type of the schema; the worker converts nothing.",
    )
    OUT_OF_RANGE = (
        "out_of_range",
        "The number is too small or too large.",
        "Send one between the field's bounds.",
    )
    TOO_LONG = (
        "too_long",
        "A text has too many characters.",
        "Shorten it.",
    )
    TOO_SHORT = (
        "too_short",
        "A text is empty.",
        "Fill it, or leave the optional field out.",
    )
    PATTERN = (
        "pattern",
        "A text is blank, or has a character that its field does not allow.",
        "Send a text of the field's form; look for line breaks and control characters.",
    )
    NOT_ALLOWED = (
        "not_allowed",
        "The stack's [limits](series.md#the-stacks-limits) do not allow the value.",
        "Correct it, or ask the operators.",
    )
    KEY_REUSED = (
        "key_reused",
        "The key belongs to a different ticket.",
        "Choose another key, if both tickets are wanted.",
    )
    CAP_REACHED = (
        "cap_reached",
        "The numbers have reached the request's `max_number`.",
        "Sold out; or send with a higher cap.",
    )
