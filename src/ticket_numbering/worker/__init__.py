"""A batch from SQS to its response, over the ports of SNS and SQS."""
