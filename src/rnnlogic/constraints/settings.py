"""Settings of constraints."""

from __future__ import annotations

from pydantic import Field

from rnnlogic.base.settings import Settings


class ConstraintSettings(Settings):
    """What rules answers out, besides what was learned."""

    enabled: bool = Field(True, description="Leave out answers that break a constraint")
    stated: tuple[str, ...] = Field(
        (), description="Constraints beside those found: functional: R, exclusive: R S, drop: R, ..."
    )
