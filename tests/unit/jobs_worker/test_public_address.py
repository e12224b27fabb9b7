"""The public address that git hosts may call."""

import pytest

from dashwright.common.allowed_hosts import LOOPBACK, AllowedHosts
from dashwright.jobs_worker.maintenance.hooks import webhook_base_url


@pytest.mark.parametrize(
    ("public_url", "allowed", "is_sent"),
    [
        ("https://boards.example.com", (), True),
        ("https://10.0.0.1", (), True),
        ("", LOOPBACK, False),
        ("http://boards.example.com", (), False),
        ("https://localhost", (), False),
        ("https://127.0.0.1:3000", (), False),
        ("https://[::1]:3000", (), False),
        ("http://boards.internal", ("*.internal",), True),
        ("http://127.0.0.1:3000", LOOPBACK, True),
        ("http://localhost:3000", LOOPBACK, True),
    ],
)
def test_webhooks_need_https_or_a_listed_address(public_url: str, allowed: tuple[str, ...], is_sent: bool) -> None:
    """The public address is sent to git hosts only if it uses https and is not loopback, or is listed by the operator."""
    assert webhook_base_url(public_url, AllowedHosts.parse(allowed)) == (public_url if is_sent else None)
