"""The public address that git hosts may call."""

import pytest

from dashwright.common.allowed_hosts import LOOPBACK, AllowedHosts
from dashwright.jobs_worker.maintenance.hooks import webhook_base_url


@pytest.mark.parametrize(
    ("public_url", "allowed"),
    [
        ("https://boards.example.com", ()),
        ("https://10.0.0.1", ()),
        ("http://boards.internal", ("*.internal",)),
        ("http://127.0.0.1:3000", LOOPBACK),
        ("http://localhost:3000", LOOPBACK),
    ],
)
def test_webhooks_use_https_or_a_listed_address(public_url: str, allowed: tuple[str, ...]) -> None:
    """Git hosts call the public address if it uses https and is not loopback, or if the operator lists it."""
    assert webhook_base_url(public_url, AllowedHosts.parse(allowed)) == public_url


@pytest.mark.parametrize(
    ("public_url", "allowed"),
    [
        ("", LOOPBACK),
        ("http://boards.example.com", ()),
        ("https://localhost", ()),
        ("https://127.0.0.1:3000", ()),
        ("https://[::1]:3000", ()),
    ],
)
def test_webhooks_do_not_use_another_address(public_url: str, allowed: tuple[str, ...]) -> None:
    """Git hosts call no address without https, no loopback address and no empty address, unless the operator lists it."""
    assert webhook_base_url(public_url, AllowedHosts.parse(allowed)) is None
