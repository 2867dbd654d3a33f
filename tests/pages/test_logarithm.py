import math

from hypothesis import given
from hypothesis import strategies as st

from eitr.pages.logarithm import ln


@given(st.integers(1, 10**9))
def test_it_is_the_natural_logarithm_to_the_last_bits(number: int) -> None:
    assert math.isclose(ln(number), math.log(number), rel_tol=1e-15, abs_tol=0)


def test_the_logarithm_of_one_is_exactly_zero() -> None:
    assert ln(1) == 0.0


def test_it_never_falls() -> None:
    values = [ln(number) for number in range(1, 5000)]
    assert values == sorted(values)
