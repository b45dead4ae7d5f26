"""The scenario of a history: messages, workers, latencies, faults and outages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from simulation.aws.fault_plans import Outage
from simulation.aws.latency import Latency
from simulation.aws.tables import PARTITION_UNITS
from simulation.scenarios.producers import Sending
from ticket_numbering.allocation.sequence_cache import TTL
from ticket_numbering.function.settings import Settings

SHIPPED_ATTEMPTS: Final[int] = Settings.model_fields["max_attempts"].default


@dataclass(frozen=True)
class Scenario:
    """The parameters of a history."""

    sendings: Sequence[Sending]
    pollers: int = 2
    batch_size: int = 10
    visibility_seconds: float = 180.0
    max_receives: int = 10
    max_attempts: int = SHIPPED_ATTEMPTS
    redrives: Sequence[float] = ()
    """The times at which an operator redrives the dead letters."""
    next_version: int = 0
    """The number of pollers that run the next version of the worker."""
    partition_units: float = PARTITION_UNITS
    partial_reasons: float = 0.0
    """The share of cancellations that report only some of their reasons."""
    fifo: bool = False
    latency: Latency = field(default_factory=Latency)
    fault_rate: float = 0.0
    outages: Sequence[Outage] = ()
    clock_error: float = 0.0
    """Seconds by which each execution environment's clock may be wrong."""
    cache_ttl: timedelta = TTL
    """The time that a sequence cache trusts a number; no promise depends on it."""
    throttled: Mapping[str, float] = field(default_factory=dict)
    """Projects whose partition is throttled, and until when."""
    unindexable: Mapping[str, float] = field(default_factory=dict)
    """Ids of records that an index of the keys' table rejects, and until when."""
    slow_calls: Mapping[str, float] = field(default_factory=dict)
    """Additional seconds that calls of these names take."""
    refusals_fail: bool = False
    """Whether SNS takes no refusal."""
    is_fair: bool = False
    """Whether DynamoDB and SNS work, so that no message may wait for its neighbours."""
