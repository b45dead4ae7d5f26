"""Reads the environment into frozen, validated settings; no other module reads it."""

import os
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ticket_numbering.contract.field_types import EventSource
from ticket_numbering.contract.limits import Limits

Name = Annotated[str, Field(min_length=1)]


class WorkerLimits(Limits):
    """The stack's limits, under the names of the worker's variables."""

    model_config = ConfigDict(alias_generator=str.upper, hide_input_in_errors=True)


class Settings(BaseModel):
    """The worker's configuration: limits, names of resources, and tuning."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=str.upper,
        # The environment has credentials, and the log has every error.
        hide_input_in_errors=True,
    )

    tickets_table: Name
    idempotency_keys_table: Name
    assignments_topic_arn: Name
    dead_letter_queue_url: Name

    lines_table: str = ""
    """The table for the queue of a contended project's workers; "" for no queue."""

    limits: WorkerLimits = WorkerLimits()
    """The stack's limits on requests."""

    event_source: EventSource
    """The stack, as the CloudEvents source of every event."""

    idempotency_retention_days: Annotated[int, Field(ge=0)] = 0
    """The days for which an idempotency key is kept; 0 means for ever."""

    number_padding: Annotated[int, Field(ge=0, le=12)] = 0
    """The minimum of digits for display; shorter numbers are padded with zeros."""

    max_attempts: Annotated[int, Field(ge=1)] = 40
    """The attempts at one block before its requests return to the queue."""

    deadline_reserve_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 10.0
    """No read, write or early announcement starts with less time left.

    It covers one call that runs into its timeouts, `LONGEST_CALL_SECONDS`.
    """

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] = os.environ) -> "Settings":
        """Read the settings.

        Raises:
            pydantic.ValidationError: A variable is missing or malformed.
        """
        limits = WorkerLimits.model_validate({**environ})
        return cls.model_validate({**environ, "LIMITS": limits})
