"""One mechanism for all settings: checked classes, YAML files, `key=value` changes and packaged files.

Every room keeps its `Settings` class beside its code; a field of such a class may be a group of settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from rnnlogic.base.errors import RNNLogicError, nearest_spellings

DEEPEST = 20  # levels of settings, with lists in them: ours have two
LARGEST_NUMBER = 1 << 53  # beyond it floating-point numbers are no longer exact
SHOWN = 60  # characters of a wrong value in a message


class Settings(BaseModel):
    """Named values, checked and never changed afterwards; a key that does not exist is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    former: ClassVar[Mapping[str, str]] = {}  # keys of earlier versions and their present names
    gone: ClassVar[Mapping[str, str]] = {}  # keys of earlier versions that nothing stands for, and why

    @field_validator("*", mode="before")
    @classmethod
    def _switches_are_no_numbers(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse `rounds=true` and `rounds=yes`, which would count as 1."""
        annotation = cls.model_fields[info.field_name or ""].annotation
        kinds = {annotation, *get_args(annotation)}
        if isinstance(value, bool) and kinds & {int, float} and bool not in kinds:
            raise ValueError("expected a number")
        return value


Kind = TypeVar("Kind", bound=Settings)


def checked(kind: type[Kind], values: Mapping[str, Any], source: str = "settings") -> Kind:
    """Settings from nested values; an error names source and key, and suggests a key if it is unknown."""
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        raise RNNLogicError("\n".join(f"{source}: {_explain(kind, e)}" for e in error.errors())) from None


def changed(settings: Kind, values: Mapping[str, Any], source: str = "settings") -> Kind:
    """The settings with some nested values changed."""
    return checked(type(settings), merged(settings.model_dump(), values), source)


def merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Nested values with nested changes applied, group by group."""
    groups = {
        key: merged(values[key], new)
        for key, new in changes.items()
        if isinstance(new, Mapping) and isinstance(values.get(key), Mapping)
    }
    return {**values, **changes, **groups}


def override(settings: Kind, assignments: Iterable[str]) -> Kind:
    """The settings with `key=value` changes such as `em.rounds=5`; values are read as YAML."""
    values = settings.model_dump()
    for assignment in assignments:
        key, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals:
            example = all_keys(type(settings))[0]
            raise RNNLogicError(f"--set {assignment}: expected KEY=VALUE, for example {example}=VALUE")
        source = f"--set {assignment}" if len(assignment) <= SHOWN else f"--set {assignment[:SHOWN]}..."
        values = merged(values, _nested(values, key, _parsed(text, source)))
    return checked(type(settings), values, "--set")


def all_keys(kind: type[Settings]) -> list[str]:
    """Every key that can be set, dotted: `em.rounds`."""
    groups = _groups(kind)
    inner = {name: [f"{name}.{key}" for key in all_keys(group)] for name, group in groups.items()}
    return [key for name in kind.model_fields for key in inner.get(name, [name])]


def read_values(path: str | Path) -> dict[str, Any]:
    """The contents of a YAML file, unchecked."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RNNLogicError(f"{path}: cannot be read ({error})") from None
    return _mapping(text, str(path))


def packaged(name: str) -> dict[str, Any]:
    """The contents of the packaged file settings/NAME.yaml, unchecked; nothing if there is no such file."""
    place = files("rnnlogic") / "settings" / f"{name}.yaml"
    return _mapping(place.read_text(encoding="utf-8"), str(place)) if place.is_file() else {}


def _parsed(text: str, source: str) -> Any:
    try:
        return require_sane(yaml.load(text, _PlainLoader), source)
    except RecursionError:
        raise RNNLogicError(f"{source}: is nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2020-13-01
        problem = getattr(error, "problem", None) or error
        mark = getattr(error, "problem_mark", None)
        place = f"{source}:{mark.line + 1}" if mark and mark.line else source
        raise RNNLogicError(f"{place}: is not YAML: {problem}") from None


class _PlainLoader(yaml.SafeLoader):
    """Reads plain values only: an alias (`*name`) could make a small file huge."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not read, write out what they stand for")
        return super().compose_node(parent, index)


def require_sane(values: Any, source: str, depth: int = 0) -> Any:
    """Refuse numbers and nesting beyond all reason, which libraries answer with errors of their own."""
    if depth > DEEPEST:
        raise RNNLogicError(f"{source}: is nested more than {DEEPEST} deep")
    if isinstance(values, int) and abs(values) > LARGEST_NUMBER:
        raise RNNLogicError(f"{source}: a whole number may be at most {LARGEST_NUMBER:,}")
    inner = values.values() if isinstance(values, Mapping) else values if isinstance(values, list) else ()
    for value in inner:
        require_sane(value, source, depth + 1)
    return values


def _mapping(text: str, source: str) -> dict[str, Any]:
    values = _parsed(text, source) or {}
    if not isinstance(values, dict):
        raise RNNLogicError(f"{source}: expected 'key: value' lines, found {type(values).__name__}")
    return values


def _nested(values: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    """`a.b` and a value as {a: {b: value}}; every part before the last must be a group."""
    outer, dot, inner = key.partition(".")
    if not dot:
        return {outer: value}
    group = values.get(outer, {})
    if not isinstance(group, Mapping):
        raise RNNLogicError(f"--set {key}: {outer!r} is a value, not a group of settings")
    return {outer: _nested(group, inner, value)}


def _explain(kind: type[Settings], error: Any) -> str:
    key = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"unknown key {key!r}; {_remedy(kind, key)}"
    message = str(error["ctx"]["error"]) if error["type"] == "value_error" else error["msg"]
    found = repr(error.get("input"))
    return f"{key}: {message}, found {found if len(found) <= SHOWN else found[: SHOWN - 3] + '...'}"


def _remedy(kind: type[Settings], key: str) -> str:
    """What to write instead of an unknown key."""
    renamed, known = _former_keys(kind), all_keys(kind)
    if key in renamed:
        return f"it is called {renamed[key]} now"
    if key in gone_keys(kind):
        return f"it is gone: {gone_keys(kind)[key]}"
    near = nearest_spellings(key, known)
    return f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(known)}"


def _former_keys(kind: type[Settings]) -> dict[str, str]:
    """Keys of earlier versions and their present names, dotted."""
    inner = {name: _former_keys(group) for name, group in _groups(kind).items()}
    return dict(kind.former) | {
        f"{name}.{old}": f"{name}.{new}" for name, keys in inner.items() for old, new in keys.items()
    }


def gone_keys(kind: type[Settings]) -> dict[str, str]:
    """Keys of earlier versions that nothing stands for, dotted, and why they are gone."""
    inner = {name: gone_keys(group) for name, group in _groups(kind).items()}
    return dict(kind.gone) | {
        f"{name}.{old}": why for name, keys in inner.items() for old, why in keys.items()
    }


def without_gone(kind: type[Settings], values: Mapping[str, Any]) -> dict[str, Any]:
    """Nested values of an earlier version without the keys that are gone."""
    groups = _groups(kind)
    return {
        key: without_gone(groups[key], value) if key in groups and isinstance(value, Mapping) else value
        for key, value in values.items()
        if key not in kind.gone
    }


def _groups(kind: type[Settings]) -> dict[str, type[Settings]]:
    """The fields that are groups of settings."""
    types = {name: field.annotation for name, field in kind.model_fields.items()}
    return {name: t for name, t in types.items() if isinstance(t, type) and issubclass(t, Settings)}
