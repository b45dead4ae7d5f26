"""What Lambda loads: the handler on AWS, built once for each execution environment."""

from ticket_numbering.bootstrap import bootstrap
from ticket_numbering.handler import build_handler

lambda_handler = build_handler(bootstrap())
