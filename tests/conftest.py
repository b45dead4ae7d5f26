"""What every test shares: the function's environment, and patience."""

import os
import signal

from hypothesis import settings

# A slow machine is no failure; how long a test may take is pytest's business.
settings.register_profile("project", deadline=None)
settings.load_profile("project")

# A shell lets what it starts with `&` ignore Ctrl-C, and tests of Ctrl-C send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The handler builds its clients when it is imported, as Lambda's init phase does.
os.environ.update(
    AWS_ACCESS_KEY_ID="test",
    AWS_SECRET_ACCESS_KEY="test",
    AWS_DEFAULT_REGION="eu-west-1",
    AWS_EC2_METADATA_DISABLED="true",
    TICKETS_TABLE="tickets",
    IDEMPOTENCY_KEYS_TABLE="idempotency-keys",
    ASSIGNMENTS_TOPIC_ARN="arn:aws:sns:eu-west-1:123456789012:assignments",
    DEAD_LETTER_QUEUE_URL="https://sqs.eu-west-1.amazonaws.com/123456789012/dead",
    POWERTOOLS_SERVICE_NAME="ticket-numbering-test",
    POWERTOOLS_METRICS_NAMESPACE="TicketNumbering",
)
for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN"):
    os.environ.pop(name, None)
