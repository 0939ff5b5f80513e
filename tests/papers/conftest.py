"""`papers` stands beside the package, not in it: its folder goes on the path."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "papers" / "__init__.py").exists():
    pytest.skip("papers/ is not in this distribution", allow_module_level=True)
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))
