"""Known noise is counted, everything else stays, and few noise lines make no shape."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rule_laws import check_laws

from pipeline.rules.noise_rule import drop_noise, has_shape, noise_list

NOISES = noise_list(
    "barn steps",
    (r"step [0-9]+ \S+", r"step last"),
    signs=(r"barn [0-9.]+",),
    also=(r"hay [0-9]+",),
    announces=(r"enter \S+",),
    but=(r"step [0-9]+ best",),
)
LINES = [
    *("step 1 gate", "step 2 error", "step 3 best", "enter hall", "hay 9", "", " ", "barn 1.2", "TypeError: no hay"),
    *(
        "\x1b[32mstep 4 gate\x1b[0m",
        "step 5 gate\r",
        "step 1 a\rstep 2 b",
        "cows",
        "step 7 \udcff",
        "    at x (y.js:1:2)",
    ),
    *("… [2 barn steps elided] …", "… [2 lines elided] …"),
]


def test_a_run_is_counted_and_what_announces_stays_at_its_end() -> None:
    text = "barn 1.2\nstep 1 gate-of-the-barn\nhay 1\n\nenter hall\nstep 2 gate\nenter loft\ncows\n"
    assert drop_noise(text, NOISES) == "barn 1.2\n… [4 barn steps elided] …\nenter loft\ncows\n"


def test_the_line_that_an_output_ends_with_stays() -> None:
    assert drop_noise("step 1 gate\n" * 4 + "step 5 loft\n", NOISES) == "… [4 barn steps elided] …\nstep 5 loft\n"


def test_exceptions_and_failures_stay() -> None:
    run = "step 1 gate-of-the-barn\n" * 2
    elided = "… [2 barn steps elided] …\n"
    assert drop_noise(f"{run}step 3 best\n{run}step 5 TypeError:\n{run}end", NOISES) == (
        f"{elided}step 3 best\n{elided}step 5 TypeError:\n{elided}end"
    )


def test_a_run_that_is_shorter_than_its_count_stays() -> None:
    text = "step 1 a\nstep 2 a\ncows\n"
    assert drop_noise(text, NOISES) is text


def test_of_an_overwritten_line_the_last_state_decides() -> None:
    text = "step 1 a\rstep 2 b\nstep 1 a\rcows\n" + "step 3 gate-of-the-barn\n" * 3 + "end\n"
    assert drop_noise(text, NOISES) == "step 2 b\ncows\n… [3 barn steps elided] …\nend\n"


def test_what_was_dropped_before_is_left_alone() -> None:
    text = "… [2 barn steps elided] …\n" + "step 1 gate\n" * 9
    assert drop_noise(text, NOISES) is text


def test_shape_needs_noise_in_the_head_or_in_most_lines() -> None:
    noise = "step 1 gate\n" * 3
    assert has_shape("Bash", noise + "cows\n" * 50, NOISES)
    assert has_shape("", "cows\n" * 2 + noise, NOISES)
    assert not has_shape("Bash", "cows\n" * 50 + noise, NOISES)
    assert not has_shape("Bash", "```\n" + noise + "cows\n" * 50, NOISES)
    assert not has_shape("Bash", "hay 1\n" * 9, NOISES)
    assert not has_shape("Bash", "step 1 gate\n" * 2, NOISES)
    assert not has_shape("Read", noise, NOISES)


@given(st.lists(st.sampled_from(LINES), max_size=30).map("\n".join))
def test_laws(text: str) -> None:
    check_laws(lambda value: drop_noise(value, NOISES), text, ("barn 1.2", "TypeError: no hay", "cows", "step 3 best"))
