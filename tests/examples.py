"""The examples that properties are tried with."""

from hypothesis.internal.conjecture.providers import HypothesisProvider
from hypothesis.internal.constants_ast import Constants


def forget_the_product() -> None:
    """Lets Hypothesis draw the same whatever is loaded.

    By itself it mixes in the constants of the product's modules, as many as are imported so far: the same test would have other
    examples in another worker, and after any change anywhere. It has no switch for that.
    """
    HypothesisProvider._local_constants = Constants()  # type: ignore[assignment]
