"""The ports on DynamoDB, SNS and SQS.

A new adapter or port needs, besides its module and its client in `bootstrap`:

- for a port: its protocol in `worker.ports` or `allocation.store`, a fake in
  `tests/support/fakes.py`, and each method in `tests/support/worker_calls.py`
- a resource of the stack as its target, so that a wrong name cannot lose anything; a
  rule of the template if settings exclude each other
- its error codes in `contract.aws_codes`, its types in `requirements/dev.in`, its name
  in `ticketctl/local/artifact.py`, its right in the role and in `docs/rights.toml`
- a service of the laboratory with its faults, in `lab/simulation/aws/` and
  `world/execution_environment.py`; else `docs/proof.md` says that no history meets it
- its costs in `lab/benchmarks/costs.py`, its facts in `lab/conformance/`
- for another target of events than SNS: `ticketctl/aws/{topic,announcements}.py` and
  `sequences/announcing.py`, which publish and read events beside the worker

`batch_api` matches results by `Id`, as in SNS and SQS, not by position.
"""
