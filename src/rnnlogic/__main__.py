"""`python -m rnnlogic` is the command line."""

from rnnlogic.cli import main

if __name__ == "__main__":
    main()
