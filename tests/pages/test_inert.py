import time

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
        ('<p title="a <template>">b<template>c</template>d', '<p title="a <template>">bd'),
        ("<p title = '<noscript>'>a<noscript>b</noscript>c", "<p title = '<noscript>'>ac"),
        ('<p title=x"<noscript>b</noscript>c', '<p title=x"<noscript>b</noscript>c'),
        ('<p title=">">a<noscript>b</noscript>c', '<p title=">">ac'),
        ('<p title="<noscript>b</noscript>c', '<p title="<noscript>b</noscript>c'),
        ("1 < 2<noscript>b</noscript>c", "1 < 2c"),
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


@pytest.mark.parametrize("piece", ["<a ", '<a b="', "<a b='", '<a b="c" ', "<a =", "<p>a</p>", "<", "<!--"])
def test_time_grows_with_the_length_of_the_markup_only(piece):
    markup = piece * (2_000_000 // len(piece))
    start = time.process_time()
    without_inert(markup)
    assert time.process_time() - start < 10  # less than a second on an idle machine
