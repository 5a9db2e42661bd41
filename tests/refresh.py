"""Write what programs print today into README.md and docs/: `make pages`, or with the names of some pages.

It fills the blocks that tests compare: ```output after ```python, ```console and ```session.
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path

from tests.helpers.programs import run_line, run_script
from tests.test_docs import FILES, ROOT, folder_of_page

BLOCK = re.compile(r"^```(python|output|console|session)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = ("royals.csv", "family.ttl")
MARK = "\x00end of block\x00"


def printed(texts: list[str], folder: Path) -> list[str]:
    """What each of some Python blocks prints, run as one program."""
    script = folder / "page.py"
    script.write_text("".join(f"{text}\nprint({MARK!r}, end='')\n" for text in texts), encoding="utf-8")
    status, out, err = run_script(script, folder)
    if status:
        raise SystemExit(err)
    return out.split(MARK)[:-1]


def session(text: str, folder: Path, with_errors: bool) -> str:
    """Commands, each with what it prints now."""
    parts = []
    for shown in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command = shown.partition("\n")[0]
        _, out, err = run_line(command, folder)
        parts.append(f"$ {command}\n{out}{err if with_errors else ''}")
    return "".join(parts)


def refreshed(page: Path) -> str:
    """A page with its blocks filled."""
    text = page.read_text(encoding="utf-8")
    found = BLOCK.findall(text)
    folders = {kind: folder_of_page(Path(tempfile.mkdtemp())) for kind in ("python", "console", "session")}
    for name in EXAMPLES:
        shutil.copy(ROOT / "examples" / name, folders["session"])
    programs = iter(printed([body for kind, body in found if kind == "python"], folders["python"]))
    out = ""

    def filled(block: re.Match[str]) -> str:
        nonlocal out
        kind, body = block.groups()
        if kind == "python":
            out += next(programs)
        elif kind == "output":
            body, out = out, ""
        else:
            body = session(body, folders[kind], with_errors=kind == "console")
        return f"```{kind}\n{body}```"

    return BLOCK.sub(filled, text)


def main() -> None:
    """Refresh all pages, or those named."""
    names = set(sys.argv[1:])
    for page in FILES:
        if names and page.name not in names:
            continue
        now = refreshed(page)
        if now != page.read_text(encoding="utf-8"):
            page.write_text(now, encoding="utf-8")
            print(f"{page.name}: changed", flush=True)


if __name__ == "__main__":
    main()
