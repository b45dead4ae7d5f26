"""One suite of facts about DynamoDB, SNS and SQS, over several backends.

`case` has the form of a fact, `single_items`, `transactions` and `messages` have the
facts of one call after the other, `contention` and `facts` those of workers side by
side; `suite` has all of them, and where a backend differs. `backends` has the model,
and the common part of moto and the emulator; `aws` is AWS itself.
`python -m conformance differences` prints the table of `docs/proof.md`, and
`make test-aws` asks AWS.
"""
