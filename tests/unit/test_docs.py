"""Links, paths, constants, tables and examples in the pages of the project."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
import yaml

from dashwright.common.kinds.repository import RESERVED_NAMES
from dashwright.common.models.provisioning import RepositorySpec

ROOT = Path(__file__).parents[2]
_LISTED = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
PAGES = [ROOT / name for name in _LISTED if (ROOT / name).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    """Relative links name files under version control, and their anchors are headings there."""
    for target in re.findall(r"\]\(([^)\s]+)\)", _prose(page)):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), f"{page.name}: {target}"
        assert not anchor or path.suffix != ".md" or anchor in _anchors(path), f"{page.name}: {target}"


def test_the_index_names_every_page() -> None:
    """Readers find each page of the docs by docs/README.md, so it links to all of them."""
    index = ROOT / "docs/README.md"
    linked = {(index.parent / target.partition("#")[0]).resolve() for target in re.findall(r"\]\(([^)\s]+)\)", index.read_text())}
    assert not [page for page in PAGES if page.is_relative_to(index.parent) and page != index and page not in linked]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/glossary.md", "docs/explanation/architecture.md", "docs/explanation/jobs.md"])
def test_every_path_in_a_guide_to_the_code_exists(page: str) -> None:
    """Each module and package that a guide names exists, below the root of the project or below ``src/dashwright``."""
    named = re.findall(r"`((?:api|common|expressions|jobs_worker|standalone|tests|docs|deploy)/[\w/.-]+)`", (ROOT / page).read_text())
    sources = [ROOT, *ROOT.glob("*/*/src/dashwright")]
    assert not [name for name in named if not any((folder / name).exists() for folder in sources)]


def test_every_constant_in_a_recipe_exists() -> None:
    """The tables and constants that recipes name are in the code, so that a renamed one is corrected in its recipe."""
    recipes = (ROOT / "CONTRIBUTING.md").read_text().partition("## Recipes")[2]
    named = set(re.findall(r"`(_?[A-Z][A-Z_]{2,})`", recipes))
    command = ["git", "grep", "-ohwE", "|".join(named), "--", "*.py", ":!tests/unit/test_docs.py"]
    constants = set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())
    assert named
    assert not named - constants


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_row_of_a_table_is_one_line_with_all_cells(page: Path) -> None:
    """A row that is wrapped like prose, or lacks a cell, breaks the table."""
    prose = re.sub(r"\\\|", "", _prose(page))
    for table in re.findall(r"(?:^ *\|.*\n)+", prose, re.MULTILINE):
        header, *rows = table.splitlines()
        assert not [row for row in rows if row.count("|") != header.count("|") or not row.endswith("|")]
    # The second line of a wrapped row ends with a bar, but does not begin with one.
    assert not re.search(r"^ *[^| \n].*\|$", prose, re.MULTILINE)


def test_every_repository_in_the_docs_has_a_valid_spec() -> None:
    """A repository that a page gives as an example has all required members, and no unknown ones."""
    blocks = [block for page in PAGES for block in re.findall(r"^```yaml\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)]
    specs = [yaml.safe_load(block)["spec"] for block in blocks if re.search("^kind: Repository$", block, re.MULTILINE)]
    assert len(specs) >= 2
    for spec in specs:
        RepositorySpec.model_validate(spec, extra="forbid")


@cache
def _prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


@cache
def _anchors(page: Path) -> set[str]:
    """Return the anchors that git hosts give to the headings of a page."""
    headings = (re.sub(r"\]\([^)]*\)", "", heading) for heading in re.findall(r"^#+ (.+)$", _prose(page), re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_reserved_names_of_repositories_are_documented() -> None:
    """The page about repositories lists exactly the names that are refused as reserved."""
    sentence = re.search(r"these names are reserved \(422\): ([^.]+)\.", (ROOT / "docs/reference/repositories.md").read_text())
    assert sentence is not None
    # Names in upper case are invalid anyway.
    assert set(re.findall(r"`(\w+)`", sentence[1])) == {name for name in RESERVED_NAMES if name.islower()}
