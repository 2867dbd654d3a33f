import pytest

from eitr.pages.extract import extract
from eitr.pages.inert import without_inert


@pytest.mark.parametrize(
    ("markup", "kept"),
    [
        ("<noscript><div><p>no</noscript>yes", "yes"),
        ("<NOSCRIPT class=x><b></NoScript\n>yes", "yes"),
        ("a<template><div><template><p></template></div></template>b", "ab"),
        ("a<template>b", "a"),
        ("a<noscript>b", "a"),
        ("<noscripted>a</noscripted>", "<noscripted>a</noscripted>"),
        ("<!-- <noscript> -->a", "<!-- <noscript> -->a"),
        ("<script>x = '<template>'</script>a", "<script>x = '<template>'</script>a"),
        ("<title><noscript></title>a", "<title><noscript></title>a"),
        ("<!-- <noscript>a", "<!-- <noscript>a"),
        ("<noscript>a</noscript", ""),
        ("</noscript></template>a", "</noscript></template>a"),
    ],
)
def test_what_a_scripting_browser_never_parses_is_cut_out(markup, kept):
    assert without_inert(markup) == kept


@pytest.mark.parametrize("tag", ["noscript", "template"])
def test_an_element_left_open_inside_does_not_hide_the_rest_of_the_page(tag):
    assert extract(f"<body><{tag}><div><ul></{tag}><p>Visible</p>").text == "Visible"


@pytest.mark.parametrize("markup", ["<template>", "<noscript>x</noscript>", " <template></template> "])
def test_a_page_of_inert_elements_alone_is_empty(markup):
    assert extract(markup).content().strip() == ""
