"""Here-documents: which lines of a command are their bodies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.rules.heredocs import heredoc_bodies


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param("cat > f <<EOF\na\nb\nEOF\nls", ["a\nb"], id="plain"),
        pytest.param("cat > f <<'EOF'\n$x\nEOF", ["$x"], id="single quotes"),
        pytest.param('cat > f << "END OF"\nx\nEND OF\n', ["x"], id="double quotes, a space"),
        pytest.param("cat <<\\EOF\nx\nEOF", ["x"], id="backslash"),
        pytest.param("cat <<-EOF\n\tx\n\tEOF\nls", ["\tx"], id="tabs"),
        pytest.param("cat <<EOF\nx\n\tEOF\nEOF", ["x\n\tEOF"], id="no tabs without the dash"),
        pytest.param("cat <<A <<B\n1\nA\n2\nB\nls", ["1", "2"], id="two on a line"),
        pytest.param("cat <<A\n1\nA\nls\ncat <<B\n2\nB", ["1", "2"], id="two commands"),
        pytest.param("cat <<A\ncat <<B\nx\nB\nA", ["cat <<B\nx\nB"], id="one inside another"),
        pytest.param("git commit -m \"$(cat <<'EOF'\nmessage\nEOF\n)\"", ["message"], id="commit message"),
        pytest.param("cat <<EOF\r\nx\r\nEOF\r\nls", ["x\r"], id="CRLF"),
        pytest.param("cat <<EOF\nEOF", [""], id="empty"),
        pytest.param("grep x <<< word\nword", [], id="here-string"),
        pytest.param("echo $((1 << 3))\n3", [], id="shift by a number"),
        pytest.param("cat <<EOF", [], id="no line behind"),
        pytest.param("ls", [], id="none"),
    ],
)
def test_bodies_are_found(command: str, expected: list[str]) -> None:
    bodies = heredoc_bodies(command)
    assert [command[body.start : body.end] for body in bodies] == expected
    assert all(body.closed for body in bodies)


def test_an_unclosed_body_goes_to_the_end_and_hides_no_later_one() -> None:
    command = 'python -c "a <<b"\ncat <<EOF\nx\nEOF'
    assert [(command[body.start : body.end], body.closed) for body in heredoc_bodies(command)] == [
        ("cat <<EOF\nx\nEOF", False),
        ("x", True),
    ]


@given(st.lists(st.sampled_from(["<<A", "<<'B'", "<<-A", "<<", "<", "A", "\tA", "B", "\n", "\n", "x", "\r", "é"])))
def test_closed_bodies_are_ordered_and_end_before_their_word(pieces: list[str]) -> None:
    command = "".join(pieces)
    at = 0
    for body in heredoc_bodies(command):
        if body.closed:
            assert at <= body.start <= body.end <= len(command)
            at = body.end
            assert command[body.end :].lstrip("\n\t")[:1] in ("A", "B")
