"""The contract, shared with the command line: no boto3, no Powertools."""
