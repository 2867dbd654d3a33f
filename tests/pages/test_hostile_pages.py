"""Pages made to exhaust a parser. Each is read in a process of its own, with limits that a cost growing with
the square of the size would break many times over and a slow machine does not reach."""

import json
import os
import resource
import subprocess
import sys

import pytest

MEMORY = 2**30
SECONDS = 90

READ = """
import json, sys
from eitr.errors import InputError
from eitr.pages.extract import extract
data = eval(sys.argv[1])
data = data.encode() if isinstance(data, str) else data
page = extract(data)
print(json.dumps([len(data), len(page.title), len(page.description), len(page.text), page.text[:20]]))
"""

PAGES = {
    # Elements that tree builders reopen, once for every paragraph.
    "formatting": "''.join(f'<b id={i}>' for i in range(1000)) + '<p>x' * 50_000",
    "fonts": "''.join(f'<font size={i}>' for i in range(20_000)) + '<p>x' * 20_000",
    "links": "'<a>x' * 1_000_000",
    "links around blocks": "'<a><div>' * 500_000",
    "no breaks": "'<nobr>x' * 500_000",
    # Depth.
    "nested": "'<div>' * 1_000_000 + 'x'",
    "nested and closed": "'<div>' * 500_000 + 'x' + '</div>' * 500_000",
    "tables": "'<table>' * 1_000_000",
    "tables with cells": "'<table><tr><td>' * 500_000",
    "lists": "'<ul><li>' * 800_000",
    "drawings": "'<svg><g>' * 800_000",
    "formulas": "'<math><mi>' * 800_000",
    "hidden and nested": "'<div hidden>' * 600_000",
    "end tags of nothing, deep": "'<b>' * 400_000 + '</i>' * 400_000",
    "end tags of nothing, just below the limit": "'<b>' * 500 + '</i>' * 2_000_000",
    # One huge thing.
    "many attributes": "'<p ' + ' '.join(f'a{i}=1' for i in range(200_000)) + '>hello'",
    "the same attribute": "'<p ' + 'a ' * 3_000_000 + '>hello'",
    "long attribute": "'<p title=\"' + 'x' * 7_000_000 + '\">hello'",
    "long style": "'<p style=\"' + 'a:b;' * 1_500_000 + '\">hello'",
    "long tag name": "'<' + 'a' * 8_000_000",
    "unclosed attribute": "'<p title=\"' + '<p>' * 2_500_000",
    "unclosed comment": "'<!--' + '-' * 8_000_000",
    "comments in a comment": "'<!--' * 2_000_000",
    "unclosed script": "'<script>' + '</scrip' * 1_000_000",
    "scripts in a script": "'<script>' + '<!--<script>' * 600_000",
    "unclosed title": "'<title>' + 'x<' * 4_000_000",
    "noscripts in a noscript": "'<noscript>' * 800_000",
    "templates in a template": "'<template>' * 800_000",
    "end tags of no template": "'</template>' * 700_000",
    "unclosed noscript tag": "'<noscript' * 800_000",
    "unclosed title tag": "'<title ' * 1_000_000",
    "doctype": "'<!DOCTYPE ' + 'a' * 8_000_000",
    # Floods.
    "entities": "'&amp;' * 1_600_000",
    "broken entities": "'&' * 8_000_000",
    "opening brackets": "'<' * 8_000_000",
    "names": "''.join(f'<x{i}>' for i in range(800_000))",
    "bodies": "''.join(f'<body a{i}=1>' for i in range(300_000))",
    "null bytes": "b'\\0' * 8_000_000 + b'x'",
    "high bytes": "b'\\xe9' * 8_000_000",
    "fifty megabytes of markup": "b'<div><p>Hello <b>world</b> &eacute;</p></div>' * 1_200_000",
    "fifty megabytes of text": "b'Hello world, this is text. ' * 2_000_000",
}
REST = {
    "links": "x" * 20,
    "many attributes": "hello",
    "the same attribute": "hello",
    "long attribute": "hello",
    "long style": "hello",
    "unclosed comment": "",
    "unclosed script": "",
    "unclosed title": "",
    "high bytes": "é" * 20,
    "null bytes": "x",
    "nested": "",
    "fifty megabytes of markup": "Hello world é\nHello ",
    "fifty megabytes of text": "Hello world, this is",
}
"""How the text begins, where that is certain."""


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


SOME = 3
"""One page in so many is read in the short tests, too; each takes a process of its own."""


@pytest.mark.parametrize(
    "name",
    [name if place % SOME == 0 else pytest.param(name, marks=pytest.mark.long) for place, name in enumerate(PAGES)],
)
def test_a_hostile_page_is_read_in_bounded_time_and_memory(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ, PAGES[name]],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        preexec_fn=limit_memory,
        # Every thread of numpy's library reserves memory of its own.
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-500:]
    size, title, description, text, start = json.loads(done.stdout)
    assert title + description + text <= min(size, 8 * 2**20)
    assert start.startswith(REST.get(name, ""))
