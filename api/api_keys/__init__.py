"""API keys as a resource: made, narrowed, widened within bounds, revoked."""
