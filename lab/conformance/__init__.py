"""One suite of facts about DynamoDB, SNS and SQS, over several backends.

`case` has the form of a fact, `single_items`, `transactions` and `messages` have the
facts, `suite` has all of them and where a backend differs, and `backends` the model,
and what moto and the emulator have in common. `python -m conformance` prints the table
of differences of `docs/proof.md`.
"""
