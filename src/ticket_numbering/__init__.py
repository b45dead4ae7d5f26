"""Gapless ticket numbers, exactly one per idempotency key.

Messages asking for a new ticket arrive on SQS; every project's tickets get the
numbers 1, 2, 3, ... and each number is announced on SNS.
The promise, whatever is redelivered, retried, crashed or throttled:

1. Gapless and in order: a project's numbers are exactly 1..n at every moment.
2. Once per idempotency key: the same request has the same number for ever.
3. Announced at least once, with the same event id every time.
4. Nothing lost: a message goes once its number is announced or it is dead-lettered.
5. One bad message harms only itself.

Follow a message by reading in this order; imports point the same way:

    lambda_function   what Lambda loads: builds the handler
    handler           the partial-batch response, one outcome line a record
    worker            a batch: parse, deduplicate, allocate, publish, dead-letter
    turns             tasks that give their thread away while they back off
    sqs_record        a record of the batch as SQS delivers it
    results           what becomes of a record: assigned, replayed, poison or retry
    messages          CreateTicket in, TicketNumberAssigned out: the wire contracts
    field_types       the types of their fields
    json_body         a body as one JSON object, or a reason why not
    allocation        the algorithm: the sort key's maximum plus one, in a transaction
    cancellation      pure: the reasons of a cancelled block -> the next step
    backoff           adaptive backoff per project
    sequence_cache    the next number after our own last block, for milliseconds
    ports             the store, the publisher, the dead-letter queue, and their values
    dynamodb_store    the store on DynamoDB
    dynamodb_items    the items of its two tables
    sns_publisher     the publisher on SNS
    sqs_dead_letters  the dead-letter queue on SQS
    batch_api         batch calls: packing, and the fate of every entry
    aws_errors        which AWS errors a retry can fix
    settings          environment -> frozen settings; the only reader of the environment
    observability     logger, metrics and the metric names
    errors            the error tree: poison or transient
    bootstrap         builds the clients and picks the adapters

`messages`, `field_types`, `json_body`, `dynamodb_items` and `errors` are the contract
that the command line shares; they need neither boto3 nor Powertools.
"""
