"""Settings of the evidence besides chain rules."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from rnnlogic.base.settings import Settings


class EvidenceSettings(Settings):
    """What speaks for or against an answer besides chain rules. Its weights are learned with theirs."""

    negative_evidence: Literal["off", "learned"] = Field(
        "off", description="Existing links, which count for or against an answer"
    )
    constants: bool = Field(
        False, description="Rules with constants, such as speaks(X,english) <- from(X,uk)"
    )
    constant_rules: int = Field(
        0,
        ge=0,
        description="Rules with constants that have weights of their own, for each relation and direction",
    )
    conditions: int = Field(
        20,
        ge=0,
        description="Conditions on numbers and dates, such as risk(X,high) <- age(X) >= 60, for each "
        "relation and direction, at most",
    )
    prior: bool = Field(False, description="How often an entity is an answer of the relation")
    surest: bool = Field(
        False, description="The smoothed confidence of the best chain rule that reaches an answer"
    )

    @field_validator("negative_evidence", mode="before")
    @classmethod
    def _read_yaml(cls, value: Any) -> Any:
        return {False: "off", True: "learned"}.get(value, value) if isinstance(value, bool) else value

    @property
    def groups(self) -> set[str]:
        """The groups of features that are wanted."""
        wanted = {
            "exclusions": self.negative_evidence == "learned",
            "constants": self.constants,
            "base_rate": self.prior,
            "best_rule": self.surest,
        }
        return {name for name, is_wanted in wanted.items() if is_wanted}
