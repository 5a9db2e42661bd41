"""What the documentation site adds to docs/: pages made from the code, and links that lead somewhere on it.

mkdocs.yml names this file as its hooks. Nothing that is made here is written to docs/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from html import escape
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
OUTSIDE = re.compile(r"(?<!!)\[([^\]]*)\]\(\.\./([^)#]+)(#[^)]*)?\)")
NAMED = re.compile(r"\[([\w-]+\.md)\](?=\()")
INSIDE = re.compile(r"\]\(docs/([^)]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from the code, and those that lie beside docs/."""
    made = {"reference/commands.md": commands_page(), "reference/settings.md": settings_page()}
    for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        made[PAGES[name]] = INSIDE.sub(r"](\1)", (ROOT / name).read_text(encoding="utf-8"))
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links to files beside docs/ become links to their pages, or plain text where they have none.

    Where a link says the name of a file, on the site it says the title of the page.
    """
    del page, files
    titles = dict(_titles(config.nav or []))
    lines = (line for line in markdown.split("\n") if not line.startswith("| [../README.md]"))
    text = OUTSIDE.sub(lambda link: _on_site(*link.groups()), "\n".join(lines))
    text = NAMED.sub(lambda link: f"[{titles.get(link[1], link[1])}]", text)
    return text.replace("```session\n", "```console\n").replace("```output\n", "```text\n")


def _titles(nav: list[Any]) -> Iterator[tuple[str, str]]:
    """Pages and their titles in the navigation."""
    for entry in nav:
        for title, inner in entry.items():
            yield from [(inner, title)] if isinstance(inner, str) else _titles(inner)


def _on_site(text: str, target: str, anchor: str | None) -> str:
    if target not in PAGES:
        return text
    return f"[{PAGES[target] if text == f'../{target}' else text}]({PAGES[target]}{anchor or ''})"


def commands_page() -> str:
    """Every command with its arguments and options."""
    from typer.main import get_command

    from rnnlogic.cli import app

    lines = [
        "# Command line",
        "",
        "Made from the program itself; `rnnlogic COMMAND --help` says the same.",
        "",
    ]
    return "\n".join([*lines, *_command(get_command(app), "rnnlogic")])


def _command(command: Any, name: str) -> Iterator[str]:
    inner = {key: one for key, one in getattr(command, "commands", {}).items() if not one.hidden}
    if name != "rnnlogic":
        yield from [f"## {name}", "", _paragraphs(command.help), ""]
        if command.epilog:
            yield from ["```sh", command.epilog.removeprefix("Example: "), "```", ""]
        rows = [_parameter(one) for one in command.params if not getattr(one, "hidden", False)]
        shown = [row for row in rows if row[0] != "`--help`"]
        if shown:
            yield from _table(("argument", "default", "what it does"), shown)
    for key, one in inner.items():
        yield from _command(one, f"{name} {key}")


def _paragraphs(text: str | None) -> str:
    """Help of a docstring; lines of a paragraph belong together."""
    parts = re.split(r"\n\s*\n", (text or "").strip())
    return "\n\n".join(" ".join(part.split()) for part in parts)


def _parameter(one: Any) -> tuple[str, str, str]:
    names = [one.metavar or one.name.upper()] if one.param_type_name == "argument" else one.opts
    default = "required" if one.required else _value(one.default)
    words = getattr(one, "help", None) or ""
    choices = type(one.default) if isinstance(one.default, Enum) else ()
    more = f" One of {', '.join(f'`{choice.value}`' for choice in choices)}." if choices else ""
    value = getattr(one, "metavar", None) if one.param_type_name == "option" else None
    shown = ", ".join(f"`{name}`" for name in names) + (f" `{value}`" if value else "")
    return shown, default, _cell(words) + more


def settings_page() -> str:
    """Every setting of a fit and of an embedding, with its default."""
    from rnnlogic.config import default_config
    from rnnlogic.embeddings.settings import default_settings

    lines = [
        *("# Settings", ""),
        "Made from the settings classes. `rnnlogic fit` takes `--config FILE` with these as YAML, and",
        "`--set key=value` for one; in Python, `RNNLogic({...})`. The default is the same for every",
        "graph, but for numbers that the group `budget` bounds: `rnnlogic card` shows what a run used.",
        "",
    ]
    lines += ["## A fit", "", *_settings(default_config(), ""), "## An embedding", ""]
    return "\n".join([*lines, "For `rnnlogic embed`.", "", *_settings(default_settings(), "")])


def _settings(defaults: Any, prefix: str) -> Iterator[str]:
    """Tables of settings: the values given are shown as defaults."""
    kind = type(defaults)
    groups = {name: field for name, field in kind.model_fields.items() if _is_group(field.annotation)}
    own = {name: field for name, field in kind.model_fields.items() if name not in groups}
    if own:
        yield from _table(
            ("key", "default", "values", "what it does"),
            [
                (
                    f"`{prefix}{name}`",
                    _value(getattr(defaults, name)) or "`false`" * (getattr(defaults, name) is False),
                    _limits(field),
                    _cell(field.description or ""),
                )
                for name, field in own.items()
            ],
        )
    for name, field in groups.items():
        yield from [f"### {prefix}{name}", "", _paragraphs(field.annotation.__doc__), ""]
        yield from _settings(getattr(defaults, name), f"{prefix}{name}.")


def _is_group(annotation: Any) -> bool:
    return hasattr(annotation, "model_fields")


def _limits(field: Any) -> str:
    """The type of a setting, or its possible values, and its bounds."""
    kind = field.annotation
    words = ", ".join(map(str, get_args(kind))) if get_origin(kind) is Literal else _type_words(kind)
    bounds = [
        f"{sign} {getattr(one, name)}"
        for one in field.metadata
        for name, sign in {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}.items()
        if hasattr(one, name)
    ]
    return ", ".join([_cell(words), *bounds])


def _type_words(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind).removeprefix("typing.")


def _value(value: Any) -> str:
    """A default; nothing for flags that are off, and where there is none."""
    if value is None or value is False or value == ():
        return ""
    text = value.value if isinstance(value, Enum) else value
    return f"`{str(text).lower() if isinstance(text, bool) else text}`"


def _cell(text: str) -> str:
    return escape(" ".join(text.split()), quote=False).replace("|", "\\|")


def _table(headers: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield from [f"| {' | '.join(headers)} |", f"|{'---|' * len(headers)}"]
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""
