"""Credits: a ledger with its balance beside it, and what calls in flight hold back."""
