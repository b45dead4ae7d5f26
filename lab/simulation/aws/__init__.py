"""A model of the AWS services, and of the network between them and the worker."""
