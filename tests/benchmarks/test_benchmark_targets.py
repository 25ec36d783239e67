"""Each row of the targets table can be measured, and what is measured gives right results. `-m benchmark` runs it.

No time is asserted: machines differ, and a test that fails now and then says nothing. The rows are printed.
"""

from __future__ import annotations

import pytest
from report import table
from targets import ROWS
from workshop import Workshop

MB = 10.0
PAIRS = 3

pytestmark = pytest.mark.benchmark


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """One folder for all rows, so that data is made once."""
    return Workshop(tmp_path_factory.mktemp("workshop"), MB, PAIRS)


@pytest.mark.parametrize("name", ROWS)
def test_the_row_can_be_measured(name: str, workshop: Workshop, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ROWS[name](workshop)
    with capsys.disabled():
        print(f"\n{table(rows)}\n")
    assert rows
    assert all(row.value > 0 for row in rows)
