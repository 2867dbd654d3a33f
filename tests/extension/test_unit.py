"""The extension's own tests, in TypeScript, and its types: so that `make test` covers them."""

from .node import needs, run


def test_the_tests_in_typescript_pass() -> None:
    needs("vitest")
    assert "passed" in run("npx", "--no-install", "vitest", "run", "--root", "extension")


def test_the_types_are_right() -> None:
    needs("typescript", "@types/chrome")
    assert run("npx", "--no-install", "tsc", "--noEmit", "--project", "extension") == ""
