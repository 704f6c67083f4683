"""Names that `typing` lacks in Python 3.9, for annotations; imported under TYPE_CHECKING.

Type checkers bundle ``typing_extensions``, so it need not be installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVar
    from typing_extensions import Unpack as Unpack
