"""Suggestions for misspelt names."""

import difflib
from collections.abc import Iterable, Mapping

#: Characters of the longest word that is compared, because the comparison takes quadratic time.
_LONGEST = 50


def suggestion(word: str, known: Iterable[str], synonyms: Mapping[str, str] | None = None) -> str:
    """Return ``; did you mean X?``, or an empty text if no known name resembles the word. Case is ignored."""
    folded = word.casefold()
    if synonyms and folded in synonyms:
        return f"; did you mean {synonyms[folded]}?"
    names = {name.casefold(): name for name in known}
    if len(folded) > _LONGEST:
        return ""
    alike = [folded] if folded in names else difflib.get_close_matches(folded, names, n=1)
    return f"; did you mean {names[alike[0]]}?" if alike else ""
