"""Slugs and addresses of dashboards and folders in the classic API."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.domain.urls import dashboard_url, folder_url, slug_of


@pytest.mark.parametrize(
    ("title", "slug"), [("Production Overview", "production-overview"), (" Größe: 5 % ", "groe-5"), ("日本", ""), ("a--b__c", "a-b-c")]
)
def test_a_slug_is_small_letters_digits_and_hyphens(title: str, slug: str) -> None:
    """The slug of a title has its letters and digits in ASCII, in lower case; hyphens replace spaces and underscores."""
    assert slug_of(title) == slug


@given(st.text())
def test_slugs_are_safe_in_addresses(title: str) -> None:
    """A slug of any title has only letters, digits and single hyphens between them."""
    assert all(part.isascii() and part.isalnum() for part in slug_of(title).split("-") if part)
    assert "--" not in slug_of(title)


def test_pages_have_their_old_addresses() -> None:
    """Addresses of dashboards and folders are those of Grafana, so that bookmarks remain valid."""
    assert dashboard_url("abc", "My Board") == "/d/abc/my-board"
    assert folder_url("f1", "My Folder") == "/dashboards/f/f1/my-folder"
