"""The evaluation on labelled photos: outcomes, scores, a report."""
