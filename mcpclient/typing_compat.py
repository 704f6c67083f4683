"""Names of `typing` that the oldest Python lacks, for annotations: imported under TYPE_CHECKING.

Type checkers bring ``typing_extensions`` along; no program has to have it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack
