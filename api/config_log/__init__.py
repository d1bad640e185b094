"""Configuration on its way from PostgreSQL to the stages: the outbox and its relay."""
