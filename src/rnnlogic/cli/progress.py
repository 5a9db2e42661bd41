"""Progress of a long command, on standard error."""

from rnnlogic.base.progress import StageProgress

__all__ = ["StageProgress"]
