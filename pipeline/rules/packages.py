"""Text rule `package-manager`: installs without their downloads and steps; warnings and what was installed stay."""

from __future__ import annotations

from pipeline.rules.base import CompactionRule, Failing, ToolContext
from pipeline.rules.commands import simple_commands
from pipeline.rules.failures import failure_numbers
from pipeline.rules.noise_rule import drop_noise, has_shape, noise_list
from pipeline.rules.task_names import names_task, program_of, task_word

NOUN = "package progress lines"

_PIP = (
    r"Collecting \S[^\n]*",
    r"Requirement already (?:satisfied|up-to-date): [^\n]+",
    r" +(?:Downloading|Using cached|Obtaining dependency information for|Link requires|File was already downloaded)"
    r" \S[^\n]*",
    r"(?:Downloading|Using cached|Saved|Processing) \S+\.(?:whl|tar\.gz|zip|metadata)\b[^\n]*",
    r" *(?:Preparing metadata|Getting requirements|Installing (?:build|backend) dependencies|Building (?:wheel"
    r"|editable)"
    r"|Checking if build backend|Running setup\.py|Encountered cached|Resolving deltas)\b[^\n]*"
    r"(?:\.\.\.|: started|still running\.\.\.|(?:\.\.\. |with status ')done'?)",
    r"Building wheels for collected packages: [^\n]+",
    r" +(?:Created (?:wheel|editable)|Stored in directory|changing mode of|Cloning|Running command git):? [^\n]+",
    r" +Created (?:wheel|editable) for [^\n]+",
    r"Installing collected packages: [^\n]+",
    r" *Attempting uninstall: \S+",
    r" +Found existing installation: [^\n]+",
    r" +Uninstalling \S+:",
    r" +Successfully uninstalled \S+",
    r"Looking in (?:indexes|links): [^\n]+",
    r"Ignoring \S+: markers '[^\n]+' don't match your environment",
    r"\[notice\] (?:A new release of pip|To update, run)[^\n]*",
    # A bar with its rate, as pip and uv draw it.
    r" *(?:━|╸|╺|#|=|\||█){4,}[^\n]*[0-9] ?(?:[kMG]i?)?B[^\n]*",
)
_UV = (
    r" *(?:Downloading|Downloaded|Building|Built|Updating|Updated) \S+(?:==\S+)?(?: \([^()\n]+\))?",
    r" *(?:Downloading|Preparing|Building|Resolving dependencies|Installing wheels)\.\.\.[^\n]*",
)
_NPM = (
    r"npm (?:http|sill|silly|verb|verbose|timing|info) [^\n]*",
    r"npm notice(?: (?:New (?:major|minor|patch) version of npm|Changelog:|To update run:"
    r"|Run `?npm install -g npm)[^\n]*)?",
    r"[0-9]+ packages? (?:is|are) looking for funding",
    r" +run `npm fund` for details",
    r" *[(\[]?(?:#|\.|░|▒|█|⸩|⸨|=|>)+[)\]]?(?:[ /|\\-]|\xe2[\xa0-\xa3][\x80-\xbf])*(?:idealTree|reify|extract"
    r"|fetchMetadata|loadDep|rollbackFailed)[^\n]*",
)
_PNPM = (
    r"(?:[^\n]*\| )?Progress: resolved [0-9]+, reused [0-9]+, downloaded [0-9]+, added [0-9]+(?:, done)?",
    r"(?:[^\n]*\| )?\++-*",
    r"Downloading \S+(?: \([^\n]+\))?: [0-9.]+ ?[kMG]?B/[0-9.]+ ?[kMG]?B[^\n]*",
)
_PNPM_DONE = r"(?:[^\n]*\| )?Progress: resolved [0-9]+, [^\n]*, done"
_YARN = (
    r"\[[0-9]/[0-9]\] [^\n]*(?:Resolving|Fetching|Linking|Building fresh|Validating|Cleaning|Rebuilding) [^\n]*",
    r"\[[#-]+\] [0-9]+/[0-9]+[^\n]*",
    r"➤ YN0000: [^\n]*(?:┌|└) [^\n]*",
    r"➤ YN0000: +·[^\n]*",
    r"➤ YN00(?:13|18|19): [^\n]+",
)
CARGO = (
    r" +(?:Compiling|Checking|Fresh|Dirty|Downloaded|Unpacking|Adding|Removing|Documenting"
    r"|Vendoring) [^\s:]+ v[0-9][^\n]*",
    r" +Downloading (?:crates \.\.\.|[0-9]+ crates?[^\n]*|\S+ v[0-9][^\n]*)",
    r" +Updating (?:crates\.io index|git (?:repository|submodule) [^\n]+|`[^\n]+` index)",
    r" +Locking [0-9]+ packages? [^\n]*",
    r" +Blocking waiting for file lock[^\n]*",
    r" +Building \[[=> -]*\] [0-9]+/[0-9]+[^\n]*",
    r" +Running `[^\n]*(?:/rustc|/clippy-driver|/build-script-build|CARGO=)[^\n]*`",
)
"""Cargo's lines, which stand before the output of each of its commands."""
_GO = (
    r"go: (?:downloading|extracting|finding|found) [^\n]+",
    r"go: finding module for package [^\n]+",
)
_APT = (
    r"(?:Get|Hit|Ign):[0-9]+ \S[^\n]*",
    r"(?:Reading package lists|Building dependency tree|Reading state information|Scanning [a-z ]+|Building data"
    r" structures|Calculating upgrade|Correcting dependencies)\.\.\.[^\n]*",
    r"Selecting previously unselected package [^\n]+",
    r"\(Reading database \.\.\.[^\n]*",
    r"Preparing to unpack [^\n]+ \.\.\.",
    r"(?:Unpacking|Setting up|Removing|Purging configuration files for) \S+ \([^\n]+\)(?: over \([^\n]+\))? \.\.\.",
    r"Processing triggers for \S+ \([^\n]+\) \.\.\.",
    r"debconf: delaying package configuration, since apt-utils is not installed",
    r"update-alternatives: using \S+ to provide [^\n]+",
    r"Progress: \[ *[0-9]+%\][^\n]*",
    # apk, dnf, yum
    r"\( *[0-9]+/[0-9]+\) (?:Installing|Upgrading|Purging|Replacing|Downloading) \S[^\n]*",
    r"\([0-9]+/[0-9]+\): \S+\.rpm [^\n]*",
    r"fetch https?://\S+/APKINDEX\.tar\.gz",
    r"  (?:Installing|Upgrading|Verifying|Cleanup|Preparing|Running scriptlet|Erasing"
    r"|Obsoleting) +: [^\n]*[0-9]+/[0-9]+",
)
_RUBY = (
    r"(?:Fetching|Installing|Using) \S+ [0-9]\S*(?: [(][^\n]*[)]| (?:from|with native) [^\n]+)?",
    r"Fetching \S+\.gem",
    r"Fetching gem metadata from [^\n]+",
    r"(?:Parsing|Installing ri|Done installing) documentation for [^\n]+",
    r"Building native extensions\.[^\n]*",
)
_COMPOSER = (
    r" +(?:-|•) (?:Downloading|Installing|Locking|Syncing|Updating|Upgrading) \S+ [(][^\n]+[)](?:: [^\n]*)?",
    r" +[0-9]+/[0-9]+ \[(?:[=>-]|░|▓)+\] +[0-9]+%",
)
_BREW = (
    r"==> (?:Downloading|Downloaded|Fetching|Pouring|Auto-updat|Updated|Updating|Installing dependencies|Verifying"
    r"|Tapping)[^\n]*",
    r"==> Installing \S+ dependency: [^\n]+",
    r"Already downloaded: [^\n]+",
    r"#{10,} *[0-9.]+%",
)
_CONDA = (
    r"(?:Collecting package metadata|Solving environment|Preparing transaction|Verifying transaction"
    r"|Executing transaction"
    r"|Retrieving notices)[^\n]*:[^\n]*(?:working\.\.\.|done|[|/\\-])",
    r"\S+ +\| [0-9.]+ [KMG]B +\| [^\n]*\| +[0-9]+% *",
    r"(?:Downloading and )?Extracting (?:and )?[Pp]ackages:?[^\n]*",
)
NOISE = (*_PIP, *_UV, *_NPM, *_PNPM, *_YARN, *CARGO, *_GO, *_APT, *_RUBY, *_COMPOSER, *_BREW, *_CONDA)
"""Lines of package managers that say nothing once the install has ended."""
BUT = (_PNPM_DONE,)
"""Lines that look like them and stay."""
SIGNS = (
    r"Successfully (?:installed|built|uninstalled) \S[^\n]*",
    r"(?:added|changed|removed|up to date|audited)[, ][^\n]*(?:packages?\b|in [0-9.]+m?s)[^\n]*",
    r"Packages: [+-][0-9][^\n]*",
    r" [+~-] \S+==\S+",
    r"(?:Resolved|Prepared|Installed|Uninstalled|Audited) [0-9]+ packages? in [^\n]+",
    r"npm (?:warn|WARN|err!|ERR!|error|notice) [^\n]*",
    r"found [0-9]+ vulnerabilities",
    r"yarn install v[^\n]+",
    r" +Finished (?:`|dev|release|test)[^\n]*",
    r"Fetched [0-9][^\n]* in [^\n]+",
    r"[0-9]+ upgraded, [0-9]+ newly installed, [^\n]+",
    r"The following (?:NEW|additional|upgraded) packages will be [^\n]+",
    r"Bundle (?:complete|updated)![^\n]*",
    r"go: (?:added|upgraded|downgraded) [^\n]+",
    r"Generating (?:optimized )?autoload files",
)
_NOISES = noise_list(NOUN, NOISE, signs=SIGNS, but=BUT)

_PROGRAMS = frozenset(
    {"pip", "pip3", "pipx", "uv", "npm", "pnpm", "yarn", "bun", "cargo", "go", "apt", "apt-get", "aptitude", "dpkg"}
    | {"apk", "dnf", "yum", "microdnf", "bundle", "bundler", "gem", "composer", "brew", "conda", "mamba", "micromamba"}
    | {"poetry", "pdm", "pipenv", "rye", "corepack", "pixi", "npm-check", "lerna", "rush", "maturin", "wasm-pack"}
)
_TASK = task_word("install", "setup", "bootstrap", "deps", "dependencies", "provision", "init", "ci", "venv", "update")


def compact_package_output(text: str, failing: Failing = failure_numbers) -> str:
    """Count and drop the downloads, unpacking and steps of package managers.

    What was installed, warnings, vulnerabilities, failures and every line not known stay in order.

    Returns:
        The shorter text; the text itself when it holds no such run.
    """
    return drop_noise(text, _NOISES, failing)


def matches(tool_name: str, output: str) -> bool:
    """True for an output of a shell (or an unknown tool) that opens as a package manager's, or mostly is one."""
    return has_shape(tool_name, output, _NOISES)


def matches_context(context: ToolContext) -> bool:
    """True if the command runs a package manager or a script called after one, or if no command is known."""
    if not context.command:
        return context.tool_class in ("shell", "")
    return any(program_of(words) in _PROGRAMS or names_task(words, _TASK) for words in simple_commands(context.command))


RULE = CompactionRule(
    "package-manager", matches, compact_package_output, matches_context, compact_knowing=compact_package_output
)
