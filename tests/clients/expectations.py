"""Comparison of a group's test results, in JUnit XML, with the expected ones."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from xml.etree import ElementTree

#: The largest part of a group's tests that may be expected to fail; one test always may.
TOLERATED_SHARE: Final = 0.1


class Outcome(StrEnum):
    """The outcome of one test."""

    PASSED = "passed"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one test."""

    test: str
    outcome: Outcome
    #: The first line of the failure.
    message: str = ""


@dataclass(frozen=True, slots=True)
class UnpredictableResult:
    """A test that may pass or fail with the same gateway, and the reason."""

    reason: str
    #: Text that the message of a failure must contain.
    message: str = ""


@dataclass(frozen=True, slots=True)
class Expectations:
    """Node ids of tests that do not always pass."""

    #: Tests that must fail, each with its reason.
    fails: Mapping[str, str]
    #: Tests that must be skipped, each with its reason.
    skips: Mapping[str, str]
    #: Tests that may pass or fail.
    unpredictable: Mapping[str, UnpredictableResult]


def read_expectations(text: str) -> Expectations:
    """Read the expectations in a TOML file.

    The tables ``fails`` and ``skips`` have a reason for each test. ``unpredictable`` has a table for each test, with ``reason`` and
    optionally ``message``. Raises ValueError for a test without a reason, or in two tables.
    """
    tables = tomllib.loads(text)
    if unknown := set(tables) - {"fails", "skips", "unpredictable"}:
        raise ValueError(f"unknown tables {', '.join(sorted(unknown))}; use fails, skips and unpredictable")
    fails, skips = tables.get("fails", {}), tables.get("skips", {})
    unpredictable = {
        test: UnpredictableResult(entry.get("reason", ""), entry.get("message", ""))
        for test, entry in tables.get("unpredictable", {}).items()
    }
    reasons = [*fails.items(), *skips.items(), *((test, entry.reason) for test, entry in unpredictable.items())]
    for test, reason in reasons:
        if not isinstance(reason, str) or not reason.strip():
            raise ValueError(f"{test} is listed without a reason")
        if [other for other, _ in reasons].count(test) > 1:
            raise ValueError(f"{test} is listed twice")
    return Expectations(fails, skips, unpredictable)


def read_results(xml: str) -> list[Result]:
    """Read JUnit XML of the family ``xunit1``. A test with two results (it failed, and so did its tear-down) failed."""
    results: dict[str, Result] = {}
    for case in ElementTree.fromstring(xml).iter("testcase"):
        file, module = case.get("file", ""), case.get("classname", "")
        class_path = module.removeprefix(file.removesuffix(".py").replace("/", ".")).strip(".")
        test = "::".join(part for part in (file, *class_path.split("."), case.get("name", "")) if part)
        result = _result(test, case)
        if test not in results or results[test].outcome is not Outcome.FAILED:
            results[test] = result
    return list(results.values())


def _result(test: str, case: ElementTree.Element) -> Result:
    """Return the result of a test case. An error in its set-up or tear-down is a failure."""
    for tag, outcome in (("failure", Outcome.FAILED), ("error", Outcome.FAILED), ("skipped", Outcome.SKIPPED)):
        if (entry := case.find(tag)) is not None:
            lines = (entry.get("message") or entry.text or "").strip().splitlines()
            return Result(test, outcome, lines[0] if lines else "")
    return Result(test, Outcome.PASSED)


def judge(file: str, results: Sequence[Result], exceptions: Expectations) -> list[str]:
    """Return a sentence for each difference between the results of a group and the expectations. The tests of the group are in ``file``."""
    if not results:
        return [f"{file}: no test ran"]
    complaints = [f"{result.test}: {complaint}" for result in results if (complaint := _complaint(result, exceptions))]
    executed = {result.test for result in results}
    excepted_tests = (*exceptions.fails, *exceptions.skips, *exceptions.unpredictable)
    missing = [test for test in excepted_tests if test.partition("::")[0] == file and test not in executed]
    complaints += [f"{test}: is listed as an exception, but there is no such test; remove it from the list" for test in missing]
    failing = sum(test.partition("::")[0] == file for test in exceptions.fails)
    if failing > max(1, TOLERATED_SHARE * len(results)):
        complaints.append(f"{file}: {failing} of {len(results)} tests are expected to fail; a group may have one, or a tenth")
    return complaints


def _complaint(result: Result, exceptions: Expectations) -> str:
    """Return what is not as expected about a result, or an empty text."""
    match result.outcome:
        case Outcome.PASSED if result.test in exceptions.fails:
            return f"passed, though it is expected to fail ({exceptions.fails[result.test]}); remove it from the list"
        case Outcome.PASSED if result.test in exceptions.skips:
            return f"ran, though it is expected to skip itself ({exceptions.skips[result.test]}); remove it from the list"
        case Outcome.SKIPPED if result.test not in exceptions.skips:
            return f"skipped itself: {result.message}"
        case Outcome.FAILED if result.test not in exceptions.fails and not _may_fail(result, exceptions):
            return f"failed: {result.message}"
    return ""


def _may_fail(result: Result, exceptions: Expectations) -> bool:
    """Return True if a test may fail with this message although it may also pass."""
    entry = exceptions.unpredictable.get(result.test)
    return entry is not None and entry.message in result.message
