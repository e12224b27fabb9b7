"""Whether a git host may be asked to call us."""

import pytest

from dashwright.common.allowed_hosts import LOOPBACK, AllowedHosts
from dashwright.jobs_worker.maintenance.hooks import webhook_base_url


@pytest.mark.parametrize(
    ("public_url", "allowed", "expected"),
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
def test_hosts_call_over_https_or_where_an_operator_lists_it(public_url: str, allowed: tuple[str, ...], expected: bool) -> None:
    """Nobody is asked to call what was not named."""
    assert webhook_base_url(public_url, AllowedHosts.of(allowed)) == (public_url if expected else None)
