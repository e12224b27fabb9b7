"""``python -m tests.dashboards``: draws dashboard files over generated data, and prints the state of each panel (``make test-dashboards``).

The files are those below the directory ``DASHBOARD_CORPUS``, by default the examples of the project.
"""

import asyncio
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Final

from tests.dashboards.drawing import DRAWN, DrawnDashboard, draw_files

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
#: The share of the panels that must be drawn.
_REQUIRED_SHARE: Final = 0.95
_STATES: Final = ("drawn", "partial", "noData", "unsupported", "error")


def print_report(dashboards: list[DrawnDashboard]) -> Counter[str]:
    """Print a line for each dashboard, and one for each panel that is not completely drawn. Return the number of panels in each state."""
    total: Counter[str] = Counter()
    for dashboard in dashboards:
        total += dashboard.counts
        print(f"{dashboard.name}: {_counts_text(dashboard.counts)}")
        for panel in dashboard.panels:
            if panel.state != "drawn":
                print(f"  {panel.state:<11} {panel.type} {panel.id} {panel.title[:50]!r}: {panel.message}")
    print(f"{len(dashboards)} dashboards, {total.total()} panels: {_counts_text(total)}")
    return total


def _counts_text(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[state]} {state}" for state in _STATES if counts[state]) or "no panels"


def main() -> int:
    """Return 0 if at least 95 % of the panels are drawn, otherwise 1."""
    total = print_report(asyncio.run(draw_files(Path(os.environ.get("DASHBOARD_CORPUS") or EXAMPLES))))
    drawn = sum(total[state] for state in DRAWN)
    print(f"{drawn / max(total.total(), 1):.1%} are drawn")
    return 0 if drawn >= _REQUIRED_SHARE * total.total() else 1


if __name__ == "__main__":
    sys.exit(main())
