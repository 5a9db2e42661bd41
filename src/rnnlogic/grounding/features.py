"""What a rule's weight is multiplied with, given its number of walks."""

from __future__ import annotations

from typing import Literal

Feature = Literal["count", "log1p", "binary"]  # n walks, log(1 + n), or 1 if there is any

FEATURE_CODES: dict[Feature, int] = {"count": 0, "log1p": 1, "binary": 2}  # as kernels know them
