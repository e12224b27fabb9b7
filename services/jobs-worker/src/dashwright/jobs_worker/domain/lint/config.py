"""The file ``.dashboard-lint`` in the root of a repository: which rules do not apply where, and which only warn there."""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import Field, ValidationError

from dashwright.common.errors import Invalid, TooLarge
from dashwright.common.models.shape import Shape
from dashwright.common.yaml import read_yaml
from dashwright.jobs_worker.domain.lint.finding import Finding
from dashwright.jobs_worker.domain.lint.issue import FILE

LARGEST: Final = 256 * 1024
"""Bytes of it."""

_KEYS: Final = ("exclusions", "warnings")
_WITHOUT_EFFECT: Final = ("verbose", "autofix")
"""What other programs read in the file."""

_MOST_TOLD: Final = 5


class WaivedPlace(Shape):
    """A place; what it does not name may be any. Dashboards and panels are named by their titles."""

    dashboard: str | None = None
    panel: str | None = None
    target_idx: int | None = None

    def covers(self, dashboard: str, finding: Finding) -> bool:
        is_here = self.dashboard in (None, dashboard) and self.panel in (None, finding.panel)
        return is_here and self.target_idx in (None, finding.target)


class Waiver(Shape):
    """Where a rule is waived (everywhere, without entries), and why."""

    reason: str | None = None
    entries: Annotated[list[WaivedPlace], Field(max_length=1000)] | None = None

    def covers(self, dashboard: str, finding: Finding) -> bool:
        return not self.entries or any(entry.covers(dashboard, finding) for entry in self.entries)


class Config(Shape):
    """Waivers by the names of rules."""

    exclusions: dict[str, Waiver | None] | None = None
    warnings: dict[str, Waiver | None] | None = None

    def excludes(self, rule: str, dashboard: str, finding: Finding) -> bool:
        return _waived(self.exclusions or {}, rule, dashboard, finding)

    def only_warns(self, rule: str, dashboard: str, finding: Finding) -> bool:
        return _waived(self.warnings or {}, rule, dashboard, finding)


def read_config(body: bytes) -> tuple[Config, list[str]]:
    """The configuration, and what is said of keys that nobody knows: they have no effect.

    Raises Invalid or TooLarge; the text says what to change in the file.
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
    return config, [f"{FILE}: the key {key!r:.60} is unknown and has no effect; there are {known}" for key in unknown[:_MOST_TOLD]]


def _waived(waivers: Mapping[str, Waiver | None], rule: str, dashboard: str, finding: Finding) -> bool:
    return rule in waivers and (waivers[rule] or Waiver()).covers(dashboard, finding)
