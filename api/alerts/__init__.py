"""Alerts: the rules that owners make. Whether one fires is not decided here."""
