"""The file ``.dashboard-lint`` in the root of a repository: it switches rules off, or to warnings, for places in dashboards."""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import Field, ValidationError

from dashwright.common.errors import Invalid, TooLarge
from dashwright.common.models.shape import Shape
from dashwright.common.yaml import read_yaml
from dashwright.jobs_worker.domain.lint.finding import Finding
from dashwright.jobs_worker.domain.lint.issue import FILE

LARGEST: Final = 256 * 1024
"""Bytes of the file."""

_KEYS: Final = ("exclusions", "warnings")
_WITHOUT_EFFECT: Final = ("verbose", "autofix")
"""Keys that other linters read in the file."""

_MOST_REPORTED: Final = 5


class WaivedPlace(Shape):
    """A place in dashboards; a missing member matches everything. Dashboards and panels are named by title."""

    dashboard: str | None = None
    panel: str | None = None
    target_idx: int | None = None

    def covers(self, dashboard: str, finding: Finding) -> bool:
        """Return whether a finding is in this place."""
        is_here = self.dashboard in (None, dashboard) and self.panel in (None, finding.panel)
        return is_here and self.target_idx in (None, finding.target)


class Waiver(Shape):
    """A waiver of a rule, with its reason."""

    reason: str | None = None
    #: Places where the rule is waived; everywhere if the list is empty.
    entries: Annotated[list[WaivedPlace], Field(max_length=1000)] | None = None

    def covers(self, dashboard: str, finding: Finding) -> bool:
        """Return whether a finding is waived."""
        return not self.entries or any(entry.covers(dashboard, finding) for entry in self.entries)


class Config(Shape):
    """The waivers of a repository, by rule."""

    #: Rules that do not apply.
    exclusions: dict[str, Waiver | None] | None = None
    #: Rules that only warn.
    warnings: dict[str, Waiver | None] | None = None

    def excludes(self, rule: str, dashboard: str, finding: Finding) -> bool:
        """Return whether a finding is dropped."""
        return _waived(self.exclusions or {}, rule, dashboard, finding)

    def only_warns(self, rule: str, dashboard: str, finding: Finding) -> bool:
        """Return whether a finding is a warning at most."""
        return _waived(self.warnings or {}, rule, dashboard, finding)


def read_config(body: bytes) -> tuple[Config, list[str]]:
    """Return the configuration, and a message for each unknown key, which has no effect.

    Raises Invalid or TooLarge; the message says what to change in the file.
    """
    if len(body) > LARGEST:
        raise TooLarge(f"{FILE} has {len(body)} bytes, at most {LARGEST} are read")
    try:
        tree = read_yaml(body.decode("utf-8-sig"))
        config = Config.model_validate({} if tree is None else tree)
    except UnicodeDecodeError as fault:
        raise Invalid(f"{FILE}: not UTF-8 at byte {fault.start}: save it as UTF-8") from fault
    except Invalid as fault:
        raise Invalid(f"{FILE}: {fault.message}") from fault
    except ValidationError as fault:
        first = fault.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise Invalid(f"{FILE}: {place}: {first['msg']}") from fault
    unknown = [key for key in tree or () if key not in (*_KEYS, *_WITHOUT_EFFECT)]
    known = f"{', '.join(_KEYS)} (and {', '.join(_WITHOUT_EFFECT)}, without effect)"
    return config, [f"{FILE}: the key {key!r:.60} is unknown and has no effect; there are {known}" for key in unknown[:_MOST_REPORTED]]


def _waived(waivers: Mapping[str, Waiver | None], rule: str, dashboard: str, finding: Finding) -> bool:
    return rule in waivers and (waivers[rule] or Waiver()).covers(dashboard, finding)
