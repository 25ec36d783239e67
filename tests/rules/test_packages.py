"""Downloads and steps of package managers are counted; what was installed, warnings and errors stay."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_laws import check_laws, check_linear

from pipeline.rules.base import ToolContext
from pipeline.rules.packages import RULE, compact_package_output

NOISE = {
    "pip collecting": "Collecting charset_normalizer<4,>=2 (from requests)",
    "pip downloading": "  Downloading urllib3-2.8.0-py3-none-any.whl (130 kB)",
    "pip cached": "  Using cached idna-3.20-py3-none-any.whl.metadata (1 kB)",
    "pip bar": "     ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 263.4/263.4 kB 236.3 MB/s eta 0:00:00",
    "pip satisfied": "Requirement already satisfied: idna<4,>=2.5 in ./venv/lib/site-packages (from requests)",
    "pip local": "Processing /srv/wheels/requests-2.34.2-py3-none-any.whl",
    "pip metadata": "  Preparing metadata (pyproject.toml) ... done",
    "pip metadata in two steps": "  Preparing metadata (setup.py): finished with status 'done'",
    "pip wheel": "  Building wheel for barn (pyproject.toml): started",
    "pip still": "  Building wheel for barn (setup.py): still running...",
    "pip created": "  Created wheel for barn: filename=barn-1.0-py3-none-any.whl size=1200 sha256=00ff",
    "pip stored": "  Stored in directory: /home/ann/.cache/pip/wheels/00/ff",
    "pip installing": "Installing collected packages: urllib3, idna, requests",
    "pip uninstall": "    Uninstalling idna-3.4:",
    "pip existing": "    Found existing installation: idna 3.4",
    "pip notice": "[notice] A new release of pip is available: 23.2.1 -> 26.0",
    "uv downloading": "Downloading numpy (16.0MiB)",
    "uv built": "   Built barn==1.0 (from file:///srv/barn)",
    "npm http": "npm http fetch GET 200 https://registry.npmjs.org/mocha 77ms (cache miss)",
    "npm cache": "npm http cache ms@https://registry.npmjs.org/ms/-/ms-2.1.3.tgz 0ms (cache hit)",
    "npm timing": "npm timing idealTree:init Completed in 12ms",
    "npm notice": "npm notice New major version of npm available! 10.8.2 -> 11.0.0",
    "npm bar": "[#########.........] - reify:webpack: timing reifyNode:node_modules/webpack Completed in 998ms",
    "npm fund": "47 packages are looking for funding",
    "npm fund hint": "  run `npm fund` for details",
    "pnpm": "Progress: resolved 120, reused 100, downloaded 12, added 0",
    "pnpm bar": "++++++++++++++++++++++++++++++++++++++++",
    "yarn": "[2/4] Fetching packages...",
    "yarn bar": "[####------------------------------] 40/400",
    "yarn berry step": "➤ YN0000: ┌ Resolution step",
    "yarn berry fetch": "➤ YN0013: │ 40 packages were added to the project (+ 12.4 MiB).",
    "cargo compiling": "   Compiling serde v1.0.219",
    "cargo checking": "    Checking barn v0.1.0 (/srv/barn)",
    "cargo downloaded": "  Downloaded itoa v1.0.15",
    "cargo index": "    Updating crates.io index",
    "cargo adding": "      Adding rand v0.8.5 (available: v0.9.0)",
    "cargo lock": "    Blocking waiting for file lock on package cache",
    "cargo running rustc": "     Running `/usr/lib/rust/bin/rustc --crate-name barn --edition=2024 src/lib.rs`",
    "cargo bar": "    Building [=====>                   ] 12/60: serde, syn",
    "go": "go: downloading golang.org/x/text v0.21.0",
    "go finding": "go: finding module for package github.com/spf13/cobra",
    "apt get": "Get:12 http://deb.debian.org/debian bookworm/main amd64 libc-bin amd64 2.36-9 [609 kB]",
    "apt hit": "Hit:1 http://deb.debian.org/debian bookworm InRelease",
    "apt lists": "Reading package lists... Done",
    "apt selecting": "Selecting previously unselected package libhay1:amd64.",
    "apt database": "(Reading database ... 12345 files and directories known.)",
    "apt preparing": "Preparing to unpack .../libhay1_1.0_amd64.deb ...",
    "apt unpacking": "Unpacking libhay1:amd64 (1.0-2) ...",
    "apt upgrading": "Unpacking libhay1:amd64 (1.0-2) over (0.9-1) ...",
    "apt setting up": "Setting up libhay1:amd64 (1.0-2) ...",
    "apt triggers": "Processing triggers for libc-bin (2.36-9) ...",
    "apk": "(3/12) Installing libhay (1.0-r0)",
    "dnf": "  Installing       : hay-1.0-1.fc40.x86_64                              3/12",
    "bundler": "Fetching rails 8.0.1",
    "bundler native": "Installing nokogiri 1.18.1 with native extensions",
    "bundler using": "Using rake 13.2.1",
    "gem documentation": "Installing ri documentation for rake-13.2.1",
    "composer": "  - Installing monolog/monolog (3.8.1): Extracting archive",
    "composer locking": "  - Locking psr/log (3.0.2)",
    "composer bar": " 3/12 [======>---------------------]  25%",
    "poetry": "  - Installing idna (3.10)",
    "brew": "==> Downloading https://ghcr.io/v2/homebrew/core/hay/manifests/1.0",
    "brew bar": "######################################################################### 100.0%",
    "conda": "Solving environment: ...working... done",
    "conda bar": "numpy-2.1.0          | 8.2 MB    | ########## | 100% ",
}
KEPT = {
    "pip done": "Successfully installed idna-3.20 requests-2.34.2",
    "pip built": "Successfully built barn",
    "pip root": "WARNING: Running pip as the 'root' user can result in broken permissions",
    "pip conflict": "ERROR: pip's dependency resolver does not currently take into account all the packages",
    "pip no match": "ERROR: No matching distribution found for hay==9",
    "uv": " + requests==2.34.2",
    "uv resolved": "Resolved 5 packages in 12ms",
    "npm added": "added 47 packages, and audited 48 packages in 2s",
    "npm deprecated": "npm warn deprecated request@2.88.2: request has been deprecated",
    "npm vulnerabilities": "3 vulnerabilities (1 moderate, 2 high)",
    "npm error": "npm error code ERESOLVE",
    "npm script": "> barn@1.0.0 postinstall",
    "pnpm done": "Progress: resolved 120, reused 100, downloaded 12, added 40, done",
    "pnpm packages": "Packages: +40",
    "yarn done": "Done in 2.31s.",
    "yarn warning": 'warning " > barn@1.0.0" has unmet peer dependency "hay@^2".',
    "yarn berry peer": "➤ YN0002: │ barn@workspace:. doesn't provide hay (p1a2b3), requested by gate",
    "cargo finished": "    Finished `dev` profile [unoptimized + debuginfo] target(s) in 0.55s",
    "cargo run": "     Running `target/debug/barn`",
    "cargo warning": "warning: unused variable: `hay`",
    "go added": "go: added golang.org/x/text v0.21.0",
    "go error": "go: module example.com/hay: no matching versions for query",
    "apt fetched": "Fetched 12.3 MB in 3s (4,100 kB/s)",
    "apt summary": "0 upgraded, 12 newly installed, 0 to remove and 3 not upgraded.",
    "apt error": "E: Unable to locate package hay",
    "apt warning": "W: Some index files failed to download.",
    "bundler done": "Bundle complete! 12 Gemfile dependencies, 80 gems now installed.",
    "composer autoload": "Generating optimized autoload files",
    "brew poured": "🍺  /opt/homebrew/Cellar/hay/1.0: 12 files, 1.2MB",
    "brew caveats": "==> Caveats",
    "prose": "Collecting is what the barn is for:",
    "own output": "the barn has 12 doors",
}

UNLIKE = ("prose",)
"""Prose that starts like a step goes with steps, not alone."""


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in NOISE.items()])
def test_steps_are_counted(line: str) -> None:
    text = f"first\n{line}\n{line}\n\n{line}\nlast\n"
    assert compact_package_output(text) == "first\n… [3 package progress lines elided] …\nlast\n"


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in KEPT.items() if name not in UNLIKE])
def test_all_other_lines_stay(line: str) -> None:
    steps = "Collecting idna<4,>=2.5 (from requests)\n" * 3
    assert compact_package_output(f"{steps}{line}\n{line}\n") == (
        f"… [3 package progress lines elided] …\n{line}\n{line}\n"
    )


def test_states_of_apt_on_one_line_are_one_line() -> None:
    states = "\r".join(f"(Reading database ... {n}%" for n in range(0, 100, 5))
    text = f"Setting up a (1) ...\n{states}\r(Reading database ... 12 files.)\r\nSetting up b (1) ...\nok\n"
    assert compact_package_output(text) == "… [3 package progress lines elided] …\nok\n"


INSTALL = "".join(f"{line}\n" for line in NOISE.values()) + KEPT["pip done"] + "\n"
LOCK = "".join(f'name = "hay{n}"\nversion = "1.0"\n' for n in range(30))


@pytest.mark.parametrize(
    ("tool", "text", "expected"),
    [
        pytest.param("Bash", INSTALL, True, id="install"),
        pytest.param("Bash", NOISE["npm http"] + "\n" + NOISE["npm http"] + "\n" + NOISE["npm http"], True, id="short"),
        pytest.param("", INSTALL, True, id="unknown tool, most lines"),
        pytest.param("Read", INSTALL, False, id="read of a saved log"),
        pytest.param("Bash", LOCK, False, id="lock file"),
        pytest.param("Bash", "text\n" * 90 + INSTALL[:300], False, id="some lines somewhere"),
    ],
)
def test_only_the_shape_of_an_install_matches(tool: str, text: str, expected: bool) -> None:
    assert RULE.matches(tool, text) is expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param("pip install -r requirements.txt", True, id="pip"),
        pytest.param("cd web && npm ci --silent", True, id="npm"),
        pytest.param("sudo apt-get update && sudo apt-get install -y hay", True, id="apt"),
        pytest.param("python -m pip install -U pip", True, id="pip as a module"),
        pytest.param("uv pip sync requirements.txt", True, id="uv"),
        pytest.param("./scripts/bootstrap.sh", True, id="script"),
        pytest.param("make deps", True, id="task"),
        pytest.param("cat pip.log", False, id="cat"),
        pytest.param("grep Collecting install.log", False, id="grep"),
        pytest.param("", True, id="unknown"),
    ],
)
def test_the_command_has_to_run_a_package_manager(command: str, expected: bool) -> None:
    assert RULE.matches_context is not None
    assert RULE.matches_context(ToolContext(command=command, tool_class="shell")) is expected


def test_other_classes_than_shells_are_out() -> None:
    assert RULE.matches_context is not None
    assert not RULE.matches_context(ToolContext(tool_class="read", path="pip.log"))


LINES = [*NOISE.values(), *KEPT.values(), "", "  ", "\x1b[1mCollecting idna\x1b[0m", "a\rCollecting b", "half \udcff"]


@given(st.lists(st.sampled_from(LINES), max_size=40).map("\n".join))
def test_laws(text: str) -> None:
    check_laws(compact_package_output, text, [line for name, line in KEPT.items() if name not in UNLIKE])


@pytest.mark.benchmark
@pytest.mark.parametrize(
    "unit", ["Collecting a\n", "  ", "\n", "━", "#", "Collecting a\nx\n", "npm ", "a\rb\n", "(1/2) "]
)
def test_time_is_linear(unit: str) -> None:
    check_linear(compact_package_output, unit)
    check_linear(lambda text: RULE.matches("Bash", text), unit)


@pytest.mark.benchmark
def test_a_text_of_all_kinds_of_lines_is_searched_fast() -> None:
    """One pattern of all lines would not fit into the memory of a fast search, and take seconds for this."""
    text = "".join(f"{line}\n" for line in LINES if line.isprintable()) * 60
    start = time.process_time()
    compact_package_output(text)
    assert time.process_time() - start < 2
