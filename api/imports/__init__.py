"""CSV files that clients send: decoded, split into rows and reported on. Nothing is stored."""
