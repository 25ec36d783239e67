"""The bundled samples are what their script writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support import SAMPLE_SESSIONS, SAMPLES

from pipeline.formats.detect import HEAD_BYTES, detect_bytes
from pipeline.formats.registry import FORMATS, UNKNOWN


def test_the_script_writes_the_samples_again_byte_for_byte(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(SAMPLES / "make_samples.py"), str(tmp_path)], check=True)
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.json*")}
    assert made == {path.relative_to(SAMPLES): path.read_bytes() for path in SAMPLE_SESSIONS}
    assert 1_000_000 < sum(map(len, made.values())) < 1_500_000


def test_the_samples_have_every_format() -> None:
    found = {detect_bytes(path.read_bytes()[:HEAD_BYTES], path.name) for path in SAMPLE_SESSIONS}
    assert found == set(FORMATS) - {UNKNOWN}
