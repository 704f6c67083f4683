"""``make dist``: everything to hand over, in one folder (``dist`` unless another is named)."""

from __future__ import annotations

import sys

from .release import write_release

folder = sys.argv[1] if len(sys.argv) > 1 else "dist"
for path in write_release(folder):
    print(f"{path.stat().st_size:>9,}  {path}")
