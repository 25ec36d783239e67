"""Which programs a shell command line runs, seen through its wrappers."""

from __future__ import annotations

import re
from functools import lru_cache

MAX_COMMAND_CHARS = 4096
MAX_NESTING = 4
COMMANDS_KEPT = 64
"""Command lines whose programs are remembered."""

# Words of one shell line: heredoc starts, redirections, operators, comments, quoted and plain pieces of words.
_TOKEN = re.compile(
    r"""(?P<space>[ \t\r]+|\\\n)
      |(?P<heredoc><<-?[ \t]*(?P<q>["']?)(?P<tag>[A-Za-z_][A-Za-z0-9_]*)(?P=q))
      |(?P<redirect>(?:[0-9]|&)?(?:>>|>\||>|<<<|<)(?:&[0-9-])?)
      |(?P<operator>&&|\|\||\|&|;;|[;|&\n()])
      |(?P<single>'[^']*'?)
      |(?P<double>"(?:[^"\\]|\\.)*+"?)
      |(?P<escaped>\\.?)
      |(?P<plain>[^\s'"\\;|&()<>]+|.)""",
    re.VERBOSE | re.DOTALL,
)
# A line of words that need no tokenizer.
_PLAIN_LINE = re.compile(r"[ \t]*[A-Za-z0-9_./:=@%+,~^*?{}!$-][A-Za-z0-9_./:=@%+,~^*?{}!$ \t-]*")
_UNESCAPE = re.compile(r'\\(["\\$`\n])')
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_DURATION = re.compile(r"[0-9.]+[smhd]?")
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*(?:\.exe)?")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish"})
_KEYWORDS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "fi", "done"})
_PLAIN_WRAPPERS = frozenset(
    {"sudo", "doas", "time", "nohup", "nice", "ionice", "stdbuf", "unbuffer", "exec", "command", "builtin", "setsid"}
    | {
        "xvfb-run",
        "npx",
        "bunx",
        "pnpx",
        "uvx",
        "env",
        "timeout",
        "gtimeout",
        "caffeinate",
        "winpty",
        "dotenv",
        "xargs",
    }
)
# Wrappers of two words; what follows their options is the command.
_TWO_WORDS = frozenset(
    {("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("rye", "run"), ("hatch", "run")}
    | {("pixi", "run"), ("conda", "run"), ("mamba", "run"), ("bundle", "exec"), ("npm", "exec"), ("pnpm", "exec")}
    | {("pnpm", "dlx"), ("yarn", "exec"), ("yarn", "dlx"), ("bun", "x"), ("mise", "exec"), ("asdf", "exec")}
    | {("direnv", "exec"), ("coverage", "run"), ("docker", "exec"), ("podman", "exec"), ("kubectl", "exec")}
    | {("docker", "compose"), ("docker-compose", "exec"), ("docker-compose", "run"), ("docker", "run")}
)
# After these the first word that is no option is a place (container, service, folder), not the command.
_HAS_PLACE = frozenset({"docker", "podman", "kubectl", "docker-compose", "direnv"})
# Options of wrappers that take the next word as their value.
_VALUED = frozenset(
    {"-u", "-n", "-g", "-e", "-w", "-c", "-p", "-s", "-k", "-C", "-I", "-P", "-d", "-f", "-v", "-m", "-r", "-l"}
    | {"--with", "--project", "--directory", "--python", "--extra", "--group", "--env-file", "--user", "--workdir"}
    | {"--env", "--package", "--name", "--prefix", "--cwd", "--signal", "--kill-after", "--volume", "--rcfile"}
    | {"--with-requirements", "--with-editable", "--only-group", "--namespace", "--container", "--adjustment"}
)
# Short options above that are plain switches for these wrappers.
_SWITCHES = {
    "sudo": frozenset({"-n", "-s", "-k", "-e", "-v", "-l"}),
    "time": frozenset({"-p", "-v", "-l"}),
    "docker": frozenset({"-d"}),
    "npx": frozenset({"-w"}),
    "command": frozenset({"-p", "-v"}),
    "xargs": frozenset({"-r"}),
    "uv": frozenset({"-v", "-n"}),
    "poetry": frozenset({"-v", "-n"}),
    "timeout": frozenset({"-v", "-f", "-p"}),
    "env": frozenset({"-v"}),
}
_GIT_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"})


def simple_commands(command: str) -> list[tuple[str, ...]]:
    """The programs that a shell line runs, each with its arguments.

    Wrappers (`sudo`, `timeout 5`, `uv run`, `npx`, `bash -lc '...'`, `docker exec c`, `python -m`), assignments,
    redirections and heredoc bodies are taken off; the program stands without its folder, and git without its global
    options: `cd a && git -C b status` gives `("cd", "a")` and `("git", "status")`.

    Args:
        command: a shell line; only its first `MAX_COMMAND_CHARS` are read. Unbalanced quotes end with the text.

    Returns:
        Never empty tuples; an empty list when nothing is run.
    """
    return list(_commands(command[:MAX_COMMAND_CHARS]))


def runs(command: str, *names: str) -> bool:
    """True if the line runs one of the programs; a name may hold the first words, too: `runs(c, "git status")`."""
    wanted = [tuple(name.split()) for name in names]
    return any(found[: len(words)] == words for found in simple_commands(command) for words in wanted)


# Each rule asks for the same command.
@lru_cache(COMMANDS_KEPT)
def _commands(command: str) -> tuple[tuple[str, ...], ...]:
    return tuple(_parse(command, 0))


def _parse(command: str, depth: int) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for words in _split(command):
        found.extend(_unwrap(words, depth))
    return found


def _split(command: str) -> list[list[str]]:
    """The words of each simple command, still with their wrappers."""
    if _PLAIN_LINE.fullmatch(command) is not None:
        return [command.split()]
    commands: list[list[str]] = []
    words: list[str] = []
    word: list[str] | None = None
    tags: list[str] = []
    drop_next = False
    at = 0

    def end_word() -> None:
        nonlocal word, drop_next
        if word is not None:
            if drop_next:
                drop_next = False
            else:
                words.append("".join(word))
            word = None

    while at < len(command):
        match = _TOKEN.match(command, at)
        assert match is not None  # "." takes any character
        kind, token = match.lastgroup, match[0]
        at = match.end()
        if kind in ("tag", "heredoc"):
            end_word()
            tags.append(match["tag"])
        elif kind == "space":
            end_word()
        elif kind == "redirect":
            end_word()
            drop_next = not token.endswith(("0", "1", "2", "-")) or "&" not in token[1:]
        elif kind == "operator":
            end_word()
            drop_next = False
            if words:
                commands.append(words)
                words = []
            if token == "\n" and tags:
                at = _after_heredocs(command, at, tags)
                tags = []
        elif kind == "plain" and word is None and token.startswith("#"):
            end = command.find("\n", at)
            at = len(command) if end < 0 else end
        else:
            word = [] if word is None else word
            word.append(_piece(kind, token))
    end_word()
    if words:
        commands.append(words)
    return commands


def _piece(kind: str | None, token: str) -> str:
    if kind == "single":
        return token[1:].removesuffix("'")
    if kind == "double":
        inner = token[1:-1] if len(token) > 1 and token.endswith('"') else token[1:]
        return _UNESCAPE.sub(r"\1", inner)
    return token[1:] if kind == "escaped" else token


def _after_heredocs(command: str, at: int, tags: list[str]) -> int:
    """The place behind the bodies of the heredocs that started on the line before `at`."""
    for tag in tags:
        while at < len(command):
            end = command.find("\n", at)
            end = len(command) if end < 0 else end
            line = command[at:end].strip()
            at = end + 1
            if line == tag:
                break
    return at


def _unwrap(words: list[str], depth: int) -> list[tuple[str, ...]]:
    """Take the wrappers off one simple command; a shell's `-c` text may hold several."""
    at = 0
    for _ in range(16):
        while at < len(words) and (words[at] in _KEYWORDS or _ASSIGNMENT.match(words[at])):
            at += 1
        if at >= len(words):
            return []
        name = _program(words[at])
        pair = (name, words[at + 1]) if at + 1 < len(words) else (name, "")
        if name in _SHELLS and depth < MAX_NESTING:
            script = _shell_script(words, at + 1)
            if script is not None:
                return _parse(script, depth + 1)
        if _PYTHON.fullmatch(name) and "-m" in words[at + 1 : at + 4]:
            at = words.index("-m", at + 1) + 1
        elif pair in _TWO_WORDS:
            at = _skip_options(words, at + 2, name)
            if pair == ("docker", "compose") and at < len(words) and words[at] in ("exec", "run"):
                at = _skip_options(words, at + 1, name)
            elif pair == ("docker", "compose"):
                return [("docker", *words[words.index("compose") :])]
            if name in _HAS_PLACE:
                at = _skip_options(words, at + 1, name)
        elif name in _PLAIN_WRAPPERS and pair[1]:
            at = _skip_options(words, at + 1, name)
            if name in ("timeout", "gtimeout") and at < len(words) and _DURATION.fullmatch(words[at]):
                at += 1
        else:
            break
    if at >= len(words):
        return []
    rest = words[at + 1 :]
    name = _program(words[at])
    if name == "git":
        rest = rest[_git_options(rest) :]
    return [(name, *rest)]


def _program(word: str) -> str:
    """A program's name without its folder."""
    return word.rsplit("/", 1)[-1] or word


def _shell_script(words: list[str], at: int) -> str | None:
    """The text behind `-c` (or `-lc`, `-euc`), if the shell is given one."""
    while at < len(words) and words[at].startswith("-"):
        if not words[at].startswith("--") and words[at].endswith("c"):
            return words[at + 1] if at + 1 < len(words) else ""
        at += 1
    return None


def _skip_options(words: list[str], at: int, wrapper: str) -> int:
    """The place of the first word that is neither an option, nor an option's value, nor an assignment."""
    switches = _SWITCHES.get(wrapper, frozenset())
    while at < len(words):
        word = words[at]
        if word == "--":
            return at + 1
        if word == "-m" and wrapper in ("uv", "coverage"):
            return at + 1
        if word in _VALUED and word not in switches:
            at += 2
        elif (word.startswith("-") and len(word) > 1) or _ASSIGNMENT.match(word):
            at += 1
        else:
            break
    return at


def _git_options(words: list[str]) -> int:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GIT_VALUED else 1
    return at
