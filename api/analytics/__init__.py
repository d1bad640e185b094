"""Analytics: the last thirty days at a glance."""
