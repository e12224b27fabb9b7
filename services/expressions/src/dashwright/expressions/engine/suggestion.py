"""The name that was probably meant."""

import difflib
from collections.abc import Iterable, Mapping

_LONGEST = 50
"""Characters of a word that is compared."""


def suggestion(word: str, known: Iterable[str], synonyms: Mapping[str, str] | None = None) -> str:
    """Return ``; did you mean X?``, or nothing where no known name is like the word. Case does not count."""
    folded = word.casefold()
    if synonyms and folded in synonyms:
        return f"; did you mean {synonyms[folded]}?"
    names = {name.casefold(): name for name in known}
    if len(folded) > _LONGEST:
        return ""
    alike = [folded] if folded in names else difflib.get_close_matches(folded, names, n=1)
    return f"; did you mean {names[alike[0]]}?" if alike else ""
