"""Webhooks: where an owner wants events sent. Sending them is not done here."""
