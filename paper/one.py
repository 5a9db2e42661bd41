"""`python -m paper.one`: run one experiment; `python -m paper` starts a process of this for each."""

from paper.cli import main, reproduce_one

if __name__ == "__main__":
    main(reproduce_one)
