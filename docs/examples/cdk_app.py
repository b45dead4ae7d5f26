"""Deploys a packaged release as a nested stack of the AWS CDK; docs/install.md."""

from aws_cdk import App, CfnOutput, CfnStack, Stack

RELEASE = "https://my-releases.s3.eu-west-1.amazonaws.com/ticket-numbering/0.1.0.yaml"

app = App()
stack = Stack(app, "Tickets")
numbering = CfnStack(
    stack,
    "TicketNumbering",
    template_url=RELEASE,
    parameters={"AlarmEmail": "operators@example.com", "MaximumConcurrency": "10"},
)
CfnOutput(
    stack,
    "CreateTicketQueueUrl",
    value=numbering.get_att("Outputs.CreateTicketQueueUrl").to_string(),
)
app.synth()
