"""The language check finds what docs/style.md rules out, and nothing else."""

import pytest
from tests import language


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("The worker answers with a frame.", "answers"),
        ("The client is told which.", "told"),
        ("The row stays.", "stays"),
        ("The path is no address.", "is no address"),
        ("Both are read at once.", "at once"),
    ],
)
def test_a_ruled_out_phrase_is_found(text: str, phrase: str) -> None:
    """A ruled-out phrase is found. A few phrases are enough, because one pattern finds all of them."""
    assert [finding for finding, _ in language.findings_in_text(text)] == [phrase]


@pytest.mark.parametrize("text", ["`*` stands for any name.", "There is no limit.", "It is no longer read.", "Quoted: `tells`, *lies*."])
def test_usual_english_passes(text: str) -> None:
    """Phrases that resemble ruled-out ones, and quoted phrases, are allowed."""
    assert not list(language.findings_in_text(text))


def test_python_of_the_product_is_judged_by_its_strings_and_comments() -> None:
    """Docstrings of the product begin with a verb or a noun, and its strings and comments contain no ruled-out phrase."""
    code = '"""What is read."""\nrow = 1  # told\nmessage = "it lies here"\n'
    assert [finding[:2] for finding in language.findings_in_python(code, strings=True)] == [(1, "What"), (2, "told"), (3, "lies")]


@pytest.mark.parametrize(("docstring", "start"), [("They are kept.", "They"), ("Its rows are kept.", "Its"), ("Items are kept.", None)])
def test_a_docstring_makes_sense_alone(docstring: str, start: str | None) -> None:
    """A pronoun at the start of a docstring would refer to the name of the function."""
    code = f'def test_rows():\n    """{docstring}"""\n'
    assert [finding[1] for finding in language.findings_in_python(code, strings=True)] == ([start] if start else [])


@pytest.mark.parametrize(
    ("code", "phrase"),
    [
        ("def test_a_path_that_is_no_address(): ...", "is no address"),
        ('def test_rows():\n    """Otherwise, rows are deleted."""', "Otherwise"),
        ('def test_rows():\n    """Other rows are deleted."""', "Other"),
        ('def test_rows():\n    """The error names the row."""', "The error names"),
        ('def test_rows():\n    """The error of a row names it."""', None),
        ('def test_rows():\n    """Rows are deleted."""', None),
    ],
)
def test_tests_are_named_and_described_in_sentences(code: str, phrase: str | None) -> None:
    """The name of a test is judged like its docstring, which must not depend on the name."""
    assert [finding[1] for finding in language.findings_in_python(code, strings=False)] == ([phrase] if phrase else [])


@pytest.mark.parametrize("name", ["asked", "_found", "one", "there"])
@pytest.mark.parametrize("code", ["def {}(): ...", "async def {}(): ...", "{} = 1", "def rows({}): ..."])
def test_names_are_nouns_and_verbs(code: str, name: str) -> None:
    """Functions, parameters and variables of tests and of the product have no participles, pronouns and adverbs as names."""
    assert [finding[1] for finding in language.findings_in_python(code.format(name), strings=False)] == [name]
    assert [finding[1] for finding in language.findings_in_python(code.format(name), strings=True)] == [name]


def test_attributes_of_the_product_are_nouns() -> None:
    """An attribute is judged where it is set, in the product but not in tests."""
    assert [finding[1] for finding in language.findings_in_python("row.found = 1", strings=True)] == ["found"]
    assert not list(language.findings_in_python("rows(row.found)", strings=True))
    assert not list(language.findings_in_python("row.found = 1", strings=False))


@pytest.mark.parametrize("name", ["found_rows", "one_row", "kept_items"])
def test_words_are_permitted_in_longer_names(name: str) -> None:
    """A name that also has a noun is permitted."""
    assert not list(language.findings_in_python(f"{name} = 1", strings=False))
    assert not list(language.findings_in_python(f"{name} = 1", strings=True))


@pytest.mark.parametrize("name", ["others", "both", "_placed"])
def test_names_of_the_product_name_their_subject(name: str) -> None:
    """The product has stricter rules for names than tests. ``what`` is permitted, which Graphite's events have as a member."""
    assert [finding[1] for finding in language.findings_in_python(f"{name} = 1", strings=True)] == [name]
    assert not list(language.findings_in_python(f"{name} = 1", strings=False))
    assert not list(language.findings_in_python("what = 1", strings=True))


@pytest.mark.parametrize("code", ["served = 1", "_AT_ONCE = 10", "def placed(): ...", "def rows(some): ..."])
def test_names_of_tools_name_their_subject(code: str) -> None:
    """Tools have stricter rules for names than tests, in lower and upper case."""
    assert len(list(language.findings_in_python(code, strings=True, is_tool=True))) == 1
    assert not list(language.findings_in_python(code, strings=False))


def test_docs_are_judged_by_prose_and_width() -> None:
    """Prose of docs is checked for phrases and for the length of its lines; code blocks and tables are not checked."""
    # Line 1 has a phrase, lines 2 to 4 are a code block, line 5 is a table, and line 6 is too long.
    page = f"told\n```\ntold {'x' * 100}\n```\n| {'x' * 100} |\n{'x ' * 51}\n"
    assert [line for line, _, _ in language.findings_in_markdown(page)] == [1, 6]
