import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.errors import InputError
from eitr.pages import Page
from eitr.pages.page import FIELDS


def test_a_row_may_have_any_of_the_four_fields_and_others() -> None:
    row = {"title": "Hay fever", "text": "Itchy eyes", "label": "health", "split": 3}
    assert Page.from_row(row) == Page(title="Hay fever", text="Itchy eyes")


def test_null_is_an_absent_field() -> None:
    assert Page.from_row({"keywords": None}) == Page()


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", [3, 1.5, True, ["a"], {"a": 1}, b"bytes"])
def test_a_field_that_is_no_string_is_named(field: str, value: object) -> None:
    with pytest.raises(InputError, match=f"'{field}'.*{type(value).__name__}"):
        Page.from_row({"text": "", field: value})


@pytest.mark.parametrize("row", [{}, {"label": "health"}, {"Title": "x"}])
def test_a_row_without_any_field_is_refused(row: dict[str, object]) -> None:
    with pytest.raises(InputError, match="at least one of title, description, keywords, text"):
        Page.from_row(row)


@given(st.text(), st.text(), st.text(), st.text())
def test_content_is_the_four_fields_in_order_with_line_feeds(a: str, b: str, c: str, d: str) -> None:
    page = Page(title=a, description=b, keywords=c, text=d)
    assert page.content() == a + "\n" + b + "\n" + c + "\n" + d
