"""Alerts: recognitions are held against the rules, then against the rules' cooldowns."""
