"""The language check of ``make check``: phrases that docs/style.md rules out, in code, tests and docs.

The check reads:

- of the product and of its tools (benchmarks, deploy, docs, examples): comments, all strings, and names;
- of tests: comments, docstrings, and names. The name of a test is a sentence;
- of Markdown: the prose outside of code.

A finding is one line, ``path:line: 'phrase': what to write instead``. Files for which pyproject.toml ignores ruff's rules ``D``
are not checked.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Characters of the longest permitted line of Markdown.
LONGEST_LINE_OF_DOCS = 100

#: What to write instead of each phrase, which is a regular expression.
PHRASES = {
    r"answers|answered|answering": "returns, responds, response",
    r"told|tells?|telling": "return, report, notify",
    r"hears?|heard": "receive, is notified",
    r"stands?(?! for\b)|stood|lies?|lain|stays|goes(?! wrong\b| through\b)": "is, is stored, is kept, is deleted",
    r"at once": "concurrently, immediately, in one batch",
    r"anew|for ever": "again, permanently",
    r"beside|meanwhile": "next to, in addition to, during that time",
    r"mend(?:s|ed|ing)?|borne|dear(?:er|est)?|reckon\w*|unhurried": "a plain word",
    r"whoever|nobody|somebody|everybody|strangers?|people": "user, client, caller, operator",
    # ``None`` is a value.
    r"(?<!there )(?:is|are|was|were) (?:(?-i:none)\b|no (?!longer|more|less|other|such|data)\w+)|none that": "invalid, missing, is not a",
    r"lets? go|letting go": "release",
    r"doors?|ours": "endpoint, entry point, of this project",
}
_PHRASE = re.compile("|".join(rf"\b(?P<p{i}>{phrase})\b" for i, phrase in enumerate(PHRASES)), re.IGNORECASE)
# A docstring that begins with a pronoun continues the name of its function instead of making sense alone.
_UNCLEAR_START = re.compile(r"(?:Wh(?:at|o|ich|ere)\w*|Whether|However|Of|Those|They|Their|Its?|Or|Nor|So|The same|As ``\w+``)\b")
# The docstring of a test must not begin with a word whose meaning only the name of the test explains.
_UNCLEAR_START_IN_TESTS = re.compile(
    r"(?:Such|Otherwise|Elsewhere|Others?|All others|The others?|Both (?:are|is)|Each (?:has|is)"
    # ``The error names …`` needs its noun: ``The error of a path names …``.
    r"|The (?:errors?|responses?|repl(?:y|ies)|refusals?|faults?|messages?|reports?|audit events?|exit status|result|reason)"
    r" (?:is|are|has|have|names?|says?|lists?|shows?|does not))\b"
)
# Participles, pronouns and adverbs do not name a thing, and neither do words that have a standard term.
_NOT_A_NAME = re.compile(
    r"_?(?:asks?|asked|said|told|wanted|answers?|answered|heard|given|away|theirs|mine|ours|it|they|them|who|whose"
    r"|what|here|there|behind|apart|found|got|shown|seen|looked|kept|begun|gone|room|one|each|rest)"
)
# Names of the product must also be more specific than these. ``what`` is a member of Graphite's events.
_NOT_A_NAME_OF_PRODUCT = re.compile(
    rf"(?!what\b)(?:{_NOT_A_NAME.pattern}|_?(?:placed|drawn|beside|beyond|others|some|few|both|same|either|every|several|made|taken))"
)
# Names of tools must also be more specific than these.
TOOLS = ("benchmarks/", "deploy/", "docs/", "examples/")
_NOT_A_NAME_OF_TOOLS = re.compile(
    rf"{_NOT_A_NAME.pattern}|_?(?:placed?|served|drawn|held|beside|others?|some|few|many|work|at_rest|at_once)",
    re.IGNORECASE,
)
# Words in emphasis, code, quotation marks and links are names or examples, which are not judged.
_QUOTED = re.compile(r"\*\w+\*|``[^`\n]*``|`[^`\n]*`|'[^'\s]*'|\"[^\"\s]*\"|\]\([^)\s]*\)|https?://\S+")


def findings_in_text(text: str) -> Iterator[tuple[str, str]]:
    """Yield each ruled-out phrase of a text with what to write instead. Quoted words are not judged."""
    for match in _PHRASE.finditer(_QUOTED.sub("", text)):
        yield match[0], tuple(PHRASES.values())[int((match.lastgroup or "p0")[1:])]


def findings_in_python(text: str, *, strings: bool, is_tool: bool = False) -> Iterator[tuple[int, str, str]]:
    """Yield line, phrase and advice for each finding in a module.

    Without ``strings``, the module is one of tests, of which docstrings are read. With ``strings``, it is one of the product or, if
    ``is_tool``, of its tools, of which all strings are read.
    """
    not_a_name = _NOT_A_NAME_OF_TOOLS if is_tool else _NOT_A_NAME_OF_PRODUCT if strings else _NOT_A_NAME
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    texts = [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]
    for node in ast.walk(ast.parse(text)):
        # The name of a test is a sentence.
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            texts.append((node.lineno, node.name.replace("_", " ")))
        if (line_and_name := _defined_name(node, with_attributes=strings)) and not_a_name.fullmatch(line_and_name[1]):
            yield *line_and_name, "a noun for a thing, a verb for a function"
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (docstring := ast.get_docstring(node)):
            if match := _UNCLEAR_START.match(docstring):
                yield getattr(node, "lineno", 1), match[0], "start with a verb (function) or the noun (class, module)"
            if not strings and (match := _UNCLEAR_START_IN_TESTS.match(docstring)):
                yield node.body[0].lineno, match[0], "start with the noun that is meant"
            if not strings:
                texts.append((node.body[0].lineno, docstring))
        elif strings and isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            texts.append((node.lineno, node.value))
    for line, part in texts:
        for phrase, advice in findings_in_text(part):
            yield line, phrase, advice


def _defined_name(node: ast.AST, *, with_attributes: bool) -> tuple[int, str] | None:
    """Return the line and the name of a function, a parameter or a variable, where the name is defined; optionally also of an attribute."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
            return node.lineno, name
        case ast.Attribute(attr=name, ctx=ast.Store()) if with_attributes:
            return node.lineno, name
        case _:
            return None


def findings_in_markdown(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, phrase and advice for each finding in prose, and for each line that is too long, except in tables and links."""
    in_code = False
    for index, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code:
            for phrase, advice in findings_in_text(line):
                yield index, phrase, advice
            if len(line) > LONGEST_LINE_OF_DOCS and not line.startswith("|") and "](" not in line and "://" not in line:
                yield index, line[:20] + " …", f"wrap at {LONGEST_LINE_OF_DOCS} characters"


def unchecked_globs() -> tuple[str, ...]:
    """Return the globs of files that are not checked: those with ``D`` in ruff's per-file-ignores."""
    ruff = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]["per-file-ignores"]
    return tuple(glob for glob, rules in ruff.items() if "D" in rules and glob != "tests/**")


def main() -> int:
    """Print the findings of all files under version control; return the exit status."""
    listed = subprocess.run(["git", "ls-files", "*.py", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    globs, count = unchecked_globs(), 0
    for name in sys.argv[1:] or listed:
        path = ROOT / name
        if not path.exists() or (not sys.argv[1:] and any(fnmatch(name, glob) for glob in globs)):
            continue
        text = path.read_text()
        lines = (
            findings_in_markdown(text)
            if path.suffix == ".md"
            else findings_in_python(text, strings=not name.startswith("tests/"), is_tool=name.startswith(TOOLS))
        )
        for line, phrase, advice in lines:
            count += 1
            print(f"{name}:{line}: {phrase!r}: {advice}")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
