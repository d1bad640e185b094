"""The webhooks stage: events to the receivers that asked for them."""
