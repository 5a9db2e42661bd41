"""`python -m paper`: run the experiments behind the paper's tables and figures, and write a report."""

from paper.cli import main, reproduce

if __name__ == "__main__":
    main(reproduce)
