"""The entry point: the handler on AWS, built once for each execution environment."""

from ticket_numbering.function.bootstrap import bootstrap
from ticket_numbering.worker.handler import build_handler

lambda_handler = build_handler(bootstrap())
