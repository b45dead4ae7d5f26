"""Gapless ticket numbers, exactly one per idempotency key.

Messages asking for a new ticket arrive on SQS; every project's tickets get the
numbers 1, 2, 3, ... and each number is announced on SNS. `README.md` has the promises
that hold through redelivery, retries, crashes and throttling.

Follow a message by reading in this order:

    function/
      lambda_function   the entry point that Lambda loads
      bootstrap         clients and adapters
      settings          environment -> frozen settings; nothing else reads it
    worker/
      handler           the partial-batch response, outcome lines, metrics
      worker            a batch: parse, deduplicate, allocate, announce, dead-letter
      batch_progress    the results of the batch, their announcement, what goes back
      turns             tasks that give their thread away while they back off
      sqs_record        a record of the batch as SQS delivers it
      results           the result of a record; nothing else can become of one
      events            where every event is made, and put into its envelope
      ports             the publisher and the dead-letter queue
      observability     logger, metrics and the metric names
    allocation/
      allocation        the algorithm: the sort key's maximum plus one, in a transaction
      progress          the requests of a project's batch: pending, answered, refused
      cancellation      pure: the reasons of a cancelled block -> the next step
      block             the tickets of one transaction, chained, within AWS's limits
      store             the store's port, and its reasons
      line              the line of a contended project: when to write, and no number
      place             a place in it, the line's port, the bounds of a wait
      backoff           adaptive backoff per project
      sequence_cache    the head after our own last block, for milliseconds
    adapters/
      dynamodb_store    the store on DynamoDB
      dynamodb_line     the line on DynamoDB
      cancellation_reasons  its reasons for a cancelled block, by position
      sns_publisher     the publisher on SNS
      sqs_dead_letters  the dead-letter queue on SQS
      batch_api         batch calls: packing, timeouts, and the fate of every entry
      aws_errors        AWS errors: transient, refusals, unknown
    contract/
      messages          CreateTicket: the request, its identity and its number
      limits            the requests that a stack allows
      events            TicketNumberAssigned and TicketRefused: what goes out
      mark_events       TicketVoided and TicketErased
      envelope          an event with its message attributes
      attributes        message attributes, those of a dead letter, FIFO names
      field_types       the types of their fields
      values            those that the command line offers, without Pydantic
      json_body         a body as one JSON object, or the reason why not
      chain             each ticket's hash, which covers the one before it
      head              the last item of a sequence: its number, date and chain
      dynamodb_items    the items of the two tables
      aws_codes         AWS's error codes by what they mean
      checksum          of an answer of DynamoDB
      errors            the error tree: poison or transient
      time_left         the time that is left of the invocation

The adapters implement the ports of `allocation` and `worker`, and stand on both; else
each room stands on those below it.
The command line shares `contract`, which needs neither boto3 nor Powertools.
"""
