"""Font files for rendered plates; LICENCES.txt names their owners and licences."""
