"""The ports on DynamoDB, SNS and SQS."""
