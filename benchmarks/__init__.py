"""What numbering costs: ours beside other ways, on a model and on the emulator."""

import os

# The handler's module builds a worker of its own from the environment when it is
# imported, as Lambda's init phase does. Nobody calls that one here; it leads nowhere.
for _name, _value in {
    "AWS_DEFAULT_REGION": "eu-west-1",
    "TICKETS_TABLE": "none",
    "IDEMPOTENCY_KEYS_TABLE": "none",
    "ASSIGNMENTS_TOPIC_ARN": "none",
    "DEAD_LETTER_QUEUE_URL": "none",
    "POWERTOOLS_SERVICE_NAME": "benchmark",
    "POWERTOOLS_METRICS_NAMESPACE": "TicketNumbering",
}.items():
    os.environ.setdefault(_name, _value)
