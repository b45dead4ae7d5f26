"""The Lambda function: settings, clients and adapters."""
