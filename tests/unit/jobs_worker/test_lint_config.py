"""The file ``.dashboard-lint``, which excludes rules or turns their errors into warnings, for all panels or for listed ones."""

from typing import Any

import pytest

from dashwright.common.errors import DashwrightError, TooLarge
from dashwright.jobs_worker.domain.lint.config import MAX_CONFIG_BYTES, read_config
from dashwright.jobs_worker.domain.lint.linter import lint

RULE = "target-reference-rule"


def severities(config: str) -> list[str]:
    """Return the severities of three findings: on queries 0 and 1 of the panel ``One``, then on query 0 of the panel ``Two``.

    Each query refers to ``Z``, which no panel has.
    """
    source = {"type": "__expr__", "uid": "__expr__"}
    targets = [{"refId": name, "datasource": source, "type": "math", "expression": "$Z"} for name in "AB"]
    panels = [{"title": "One", "type": "text", "targets": targets}, {"title": "Two", "type": "text", "targets": targets[:1]}]
    spec: dict[str, Any] = {"title": "Shop", "panels": panels}
    parsed_config, _ = read_config(config.encode())
    return [issue.severity.value for issue in lint(spec, parsed_config) if issue.rule == RULE]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("", ["error", "error", "error"]),
        ("exclusions:\n  target-reference-rule:\n", []),
        ("exclusions:\n  target-reference-rule:\n    reason: all of them are jobs\n", []),
        ("warnings:\n  target-reference-rule:\n", ["warning", "warning", "warning"]),
        ("exclusions:\n  target-reference-rule:\n    entries:\n    - panel: One\n", ["error"]),
        ("exclusions:\n  target-reference-rule:\n    entries:\n    - panel: One\n      targetIdx: 1\n", ["error", "error"]),
        ("warnings:\n  target-reference-rule:\n    entries:\n    - targetIdx: 0\n", ["warning", "error", "warning"]),
        (
            "exclusions: {target-reference-rule: {entries: [{dashboard: Other}, {dashboard: Shop, panel: Two}]}}",
            ["error", "error"],
        ),
        ("exclusions:\n  target-instance-rule:\n  target-promql-rule:\nverbose: true\nautofix: true\n", ["error", "error", "error"]),
    ],
)
def test_entries_limit_an_exclusion(config: str, expected: list[str]) -> None:
    """An exclusion or warning without entries concerns all findings of the rule. With entries, it concerns the findings at these places."""
    assert severities(config) == expected


def test_an_exclusion_wins_over_a_warning() -> None:
    assert severities("exclusions: {target-reference-rule: }\nwarnings: {target-reference-rule: }\n") == []


@pytest.mark.parametrize(
    ("body", "message_part"),
    [
        (b"exclusions: [a", "not valid YAML"),
        (b"\xff", "not UTF-8"),
        (b"- a", "the file: "),
        (b"warnings:\n  target-reference-rule: yes please\n", "warnings.target-reference-rule"),
    ],
)
def test_an_invalid_file_has_an_error_message(body: bytes, message_part: str) -> None:
    with pytest.raises(DashwrightError) as refused:
        read_config(body)
    assert refused.value.message.startswith(".dashboard-lint: ")
    assert message_part in refused.value.message


@pytest.mark.parametrize(
    ("config", "unknown"),
    [
        ("", []),
        ("exclusions: {target-reference-rule: }\nwarnings:\nverbose: true\nautofix: true\n", []),
        ("warnigs:\n  target-reference-rule:\nexclusions:\n", ["'warnigs'"]),
        ("warnigs:\nx: a\n", ["'warnigs'", "'x'"]),
        ("\n".join(f"k{number}: " for number in range(9)), [f"'k{number}'" for number in range(5)]),
    ],
)
def test_a_key_that_is_unknown_is_reported(config: str, unknown: list[str]) -> None:
    """The message about an unknown key lists the known keys. At most five unknown keys are reported."""
    _, messages = read_config(config.encode())
    assert [message.partition(" is unknown")[0] for message in messages] == [f".dashboard-lint: the key {key}" for key in unknown]
    assert all("exclusions, warnings" in message for message in messages)


def test_a_large_file_is_not_read() -> None:
    with pytest.raises(TooLarge):
        read_config(b"#" * (MAX_CONFIG_BYTES + 1))
