"""The bundled samples are what their script writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support import SAMPLES


def test_the_script_writes_the_samples_again_byte_for_byte(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(SAMPLES / "make_samples.py"), str(tmp_path)], check=True)
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.jsonl")}
    assert made == {path.relative_to(SAMPLES): path.read_bytes() for path in SAMPLES.rglob("*.jsonl")}
    assert 200_000 < sum(map(len, made.values())) < 400_000
