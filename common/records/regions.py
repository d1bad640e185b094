"""Converts the country names that plate readers return into codes."""

from collections.abc import Mapping
from typing import Final

COUNTRY_CODES: Final[Mapping[str, str]] = {
    "Albania": "AL", "Andorra": "AD", "Argentina": "AR", "Armenia": "AM", "Australia": "AU",
    "Austria": "AT", "Azerbaijan": "AZ", "Bahrain": "BH", "Belarus": "BY", "Belgium": "BE",
    "Bosnia and Herzegovina": "BA", "Brazil": "BR", "Bulgaria": "BG", "Cambodia": "KH",
    "Canada": "CA", "Croatia": "HR", "Cyprus": "CY", "Czech Republic": "CZ", "Denmark": "DK",
    "Estonia": "EE", "Finland": "FI", "France": "FR", "Georgia": "GE", "Germany": "DE",
    "Gibraltar": "GI", "Greece": "GR", "Guernsey": "GG", "Hungary": "HU", "Iceland": "IS",
    "India": "IN", "Indonesia": "ID", "Ireland": "IE", "Israel": "IL", "Italy": "IT",
    "Latvia": "LV", "Liechtenstein": "LI", "Lithuania": "LT", "Luxembourg": "LU", "Malaysia": "MY",
    "Malta": "MT", "Mexico": "MX", "Moldova": "MD", "Monaco": "MC", "Montenegro": "ME",
    "Netherlands": "NL", "New Zealand": "NZ", "North Macedonia": "MK", "Norway": "NO",
    "Poland": "PL", "Portugal": "PT", "Qatar": "QA", "Romania": "RO", "Russia": "RU",
    "San Marino": "SM", "Serbia": "RS", "Singapore": "SG", "Slovakia": "SK", "Slovenia": "SI",
    "Spain": "ES", "Sweden": "SE", "Switzerland": "CH", "Thailand": "TH", "Turkey": "TR",
    "United States": "US", "Ukraine": "UA", "United Kingdom": "GB", "Vietnam": "VN",
}  # fmt: skip
"""Country codes by the names of fast-plate-ocr's regions. **Source:** ISO 3166-1, alpha-2."""


def region_code(region: str) -> str:
    """Return the code of a country, or the name itself if a third-party model returned it."""
    return COUNTRY_CODES.get(region, region)
