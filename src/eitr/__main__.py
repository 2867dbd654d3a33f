"""`python -m eitr` is `eitr`."""

from eitr.cli import main

if __name__ == "__main__":
    main()
