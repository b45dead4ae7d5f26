"""A model of the AWS services, and of the way to them."""
