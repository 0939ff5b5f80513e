"""`papers` stands beside the package, not in it: its folder goes on the path."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Source distributions leave papers/ out, and nothing here is collected then.
collect_ignore_glob = [] if (ROOT / "papers" / "__init__.py").exists() else ["test_*.py"]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))
