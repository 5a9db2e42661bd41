"""The numbers that the paper reports for other methods: published.yaml."""

from __future__ import annotations

from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from paper.experiment import PUBLISHED

Side = Literal["both", "tail"]


class Method(BaseModel):
    """A method that the paper compares with."""

    model_config = ConfigDict(extra="forbid")

    name: str
    kind: Literal["embedding", "rules"]
    ours: str | None = None  # the baseline that runs it here; also its folder below <out>/<dataset>


class Published(BaseModel):
    """All methods, and their numbers by dataset, side and method."""

    model_config = ConfigDict(extra="forbid")

    source: str
    tables: dict[str, str]  # the paper's tables for each dataset
    methods: dict[str, Method]
    results: dict[str, dict[Side, dict[str, dict[str, float | str]]]]


def load_published() -> Published:
    """Read published.yaml."""
    return Published.model_validate(yaml.safe_load(PUBLISHED.read_text(encoding="utf-8")))
