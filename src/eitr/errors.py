"""The one exception for everything that comes from outside and is not as it should be."""


class InputError(ValueError):
    """Bad input: a file, a flag, an update, a page. Its message is one line and says what to do.

    The command line prints the message and exits with status 2; the server answers with a problem document.
    """
