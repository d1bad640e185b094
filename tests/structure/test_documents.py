"""Documents that are made from code say what the code says."""

import re
from pathlib import Path

import pytest

from deploy import settings_docs

ROOT = Path(__file__).resolve().parents[2]


def test_settings_page_is_current() -> None:
    page = settings_docs.DOCUMENT.read_text(encoding="utf-8")

    assert page == settings_docs.render(), "run: python -m deploy.settings_docs"


def test_every_setting_has_a_sentence() -> None:
    for cls in settings_docs.settings_classes():
        for name, field in cls.model_fields.items():
            assert field.description, f"{cls.__name__}.{name}"
            assert field.description.rstrip().endswith("."), f"{cls.__name__}.{name}"


def test_readme_fits_its_bound() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda p: str(p.name))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name}: {target}"
