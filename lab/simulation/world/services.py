"""The services of one history, and the network to them."""

from simulation.aws.dynamodb import DynamoDB
from simulation.aws.fault_plans import FaultPlan
from simulation.aws.fifo_queues import FifoQueue
from simulation.aws.network import Network
from simulation.aws.queues import Queue
from simulation.aws.tables import Tables
from simulation.aws.topics import Topic
from simulation.checks.history import History
from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler
from simulation.scenarios.scenario import Scenario


class Services:
    """DynamoDB, SNS and SQS, with the parameters of a scenario."""

    def __init__(
        self,
        scenario: Scenario,
        choices: Choices,
        scheduler: Scheduler,
        faults: FaultPlan,
        history: History,
    ) -> None:
        self.network = Network(
            scheduler,
            choices,
            faults,
            scenario.latency,
            history,
            slow_calls=scenario.slow_calls,
            redelivery=scenario.visibility_seconds,
        )
        self.scenario, self.choices, self.scheduler = scenario, choices, scheduler
        self.faults, self.history = faults, history
        make = FifoQueue if scenario.fifo else Queue
        self.dead_letters = make("dead", choices, scheduler)
        self.queue = make(
            "message",
            choices,
            scheduler,
            visibility_seconds=scenario.visibility_seconds,
            max_receives=scenario.max_receives,
            dead_letters=self.dead_letters,
        )
        self.topic = Topic(choices, refusals_fail=scenario.refusals_fail)
        self.tables = Tables(
            scheduler,
            choices,
            scenario.latency,
            partition_units=scenario.partition_units,
            throttled=scenario.throttled,
            unindexable=scenario.unindexable,
            partial_reasons=scenario.partial_reasons,
        )
        self.dynamodb = DynamoDB(self.tables)
