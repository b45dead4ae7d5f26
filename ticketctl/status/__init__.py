"""What `stats` does: asks SQS, CloudWatch and CloudFormation, and draws a screen."""
