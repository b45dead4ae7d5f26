resource "aws_cloudformation_stack" "ticket_numbering" {
  name         = "ticket-numbering"
  template_url = "https://my-releases.s3.eu-west-1.amazonaws.com/ticket-numbering/0.1.0.yaml"
  # CAPABILITY_AUTO_EXPAND lets CloudFormation apply the SAM transform.
  capabilities = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]

  parameters = {
    AlarmEmail         = "operators@example.com"
    MaximumConcurrency = "10"
  }

  # The provider's default of 30 minutes ends before a gradual deployment does.
  timeouts {
    create = "90m"
    update = "90m"
  }
}

output "create_ticket_queue_url" {
  value = aws_cloudformation_stack.ticket_numbering.outputs["CreateTicketQueueUrl"]
}
