"""Examples that Hypothesis generates for property tests."""

import hypothesis
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants


def fix_examples() -> None:
    """Make Hypothesis generate the same examples regardless of the imported modules.

    By default, Hypothesis adds constants of imported modules. A test would then have other examples in another worker,
    and after any change of the product. Hypothesis has no option to disable this. Its search for constants parses every module
    of the product in every worker.
    """
    providers._get_local_constants = Constants


def limit_examples(test: object, maximum: int) -> None:
    """Limit the examples of a property test that sets their number itself, which takes precedence over that of the profile."""
    own_settings: hypothesis.settings | None = getattr(test, "_hypothesis_internal_use_settings", None)
    if own_settings is not None and own_settings.max_examples > maximum:
        test._hypothesis_internal_use_settings = hypothesis.settings(own_settings, max_examples=maximum)  # type: ignore[attr-defined]
