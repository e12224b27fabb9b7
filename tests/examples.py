"""Examples that Hypothesis generates for property tests."""

from hypothesis.internal.conjecture.providers import HypothesisProvider
from hypothesis.internal.constants_ast import Constants


def fix_examples() -> None:
    """Make Hypothesis generate the same examples whatever modules are loaded.

    By default it adds the constants of the product's modules that are imported so far. The same test would then have other examples
    in another worker, and after any change of the product. Hypothesis has no option to disable this.
    """
    HypothesisProvider._local_constants = Constants()  # type: ignore[assignment]
