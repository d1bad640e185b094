"""Font files for rendered plates; LICENCES.txt beside them says whose they are."""
