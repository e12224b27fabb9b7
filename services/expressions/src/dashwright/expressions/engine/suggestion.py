"""Suggestions for misspelt names."""

import difflib
from collections.abc import Iterable, Mapping

#: The maximum length of a word that is compared, because the comparison takes quadratic time.
_MAX_LENGTH = 50


def suggestion(word: str, names: Iterable[str], synonyms: Mapping[str, str] | None = None) -> str:
    """Return ``; did you mean X?``, or an empty string if no name or synonym resembles the word. Case is ignored."""
    folded = word.casefold()
    if synonyms and folded in synonyms:
        return f"; did you mean {synonyms[folded]}?"
    names_by_folded = {name.casefold(): name for name in names}
    if len(folded) > _MAX_LENGTH:
        return ""
    matches = [folded] if folded in names_by_folded else difflib.get_close_matches(folded, names_by_folded, n=1)
    return f"; did you mean {names_by_folded[matches[0]]}?" if matches else ""
