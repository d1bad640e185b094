"""How well labelled photos are read: outcomes, scores, a report."""
