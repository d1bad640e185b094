"""Font files for rendered plates. LICENCES.txt lists the fonts' owners and licences."""
