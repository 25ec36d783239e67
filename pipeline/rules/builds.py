"""Text rule `build-output`: builds without the steps that went well; warnings, errors and the summary stay."""

from __future__ import annotations

from pipeline.rules import packages
from pipeline.rules.base import CompactionRule, Failing, ToolContext
from pipeline.rules.commands import simple_commands
from pipeline.rules.failures import failure_numbers
from pipeline.rules.noise_rule import drop_noise, has_shape, noise_list
from pipeline.rules.task_names import names_task, program_of, task_word

NOUN = "build progress lines"

_SECONDS = r"[0-9]+\.[0-9]+s?"
_DOCKER = (
    # BuildKit, plain progress: steps inside, layers, what was in the cache.
    r"#[0-9]+ (?:DONE [0-9.]+s|CACHED|\.\.\.|transferring [^\n]+|extracting [^\n]+|resolve [^\n]+"
    r"|sha256:[0-9a-f]+[^\n]*"
    r"|resolving provenance[^\n]*|(?:exporting|preparing|pushing|sending|importing|unpacking) [^\n]+|\[auth\] [^\n]+"
    r"|\[internal\] [^\n]+|building with [^\n]+)",
    rf"#[0-9]+ {_SECONDS}",
    # BuildKit on a terminal
    r" *=> (?:=> )?(?:\[|CACHED|transferring|resolve|sha256:|extracting|exporting|writing|naming|unpacking)"
    rf"[^\n]*{_SECONDS}",
    r"\[\+\] (?:Building|Running|Pulling|up) [^\n]*",
    # the old builder, pull and push
    r"Sending build context to Docker daemon[^\n]*",
    r" ---> (?:[0-9a-f]{12}|Using cache|Running in [0-9a-f]{12})",
    r" ?(?:--->)? ?Remov(?:ed|ing) intermediate container [0-9a-f]{12}",
    r" ?(?:[0-9a-f]{12}:?|\S+) (?:Pulling fs layer|Waiting|Verifying Checksum|Download complete|Pull complete"
    r"|Already exists"
    r"|Layer already exists|Mounted from [^\n]+|Preparing|Pulling|(?:Downloading|Extracting|Pushing) +\[[^\n]*)[^\n]*",
    r" *(?:Container|Network|Volume|Image) \S+ +(?:Creating|Starting|Waiting|Stopping|Removing|Recreate|Pulling"
    r"|Building)",
)
_DOCKER_STEPS = (r"Step [0-9]+/[0-9]+ : [^\n]+",)
_COMPILER = (
    r"(?:\S*/)?(?:[a-z0-9_]+-)*(?:gcc|g\+\+|cc|c\+\+|clang|clang\+\+|nvcc|ccache|emcc|em\+\+|gfortran"
    r"|rustc)(?:-[0-9.]+)?"
)
_MAKE = (
    r"\[ *[0-9]+%\] (?:Building|Linking|Generating|Built target|Automatic|Copying|Creating|Performing|Completed|Running"
    r"|Compiling|Processing|Merging|Updating|Installing|No )[^\n]*",
    r"\[[0-9]+/[0-9]+\] (?:Building|Linking|Generating|Compiling|Copying|Creating|Performing|Completed|Running"
    r"|Archiving"
    r"|Emitting|Write|Merging|Installing|Automatic|Re-running|Processing|No |Planning|Touch|Wrapping|(?:CXX|CC|AR|LD"
    r"|LINK"
    rf"|ACTION|STAMP|SOLINK|COPY|OBJCXX|OBJC|ASM)[( ]|{_COMPILER} |: && {_COMPILER} )[^\n]*",
    r"\[[0-9,]+ / [0-9,]+\] [^\n]+",
    r"(?:Loading|Analyzing): (?:[0-9]+ packages? loaded|[0-9]+ targets?\b[^\n]*|target //[^\n]*)?",
    r"(?:Scanning|Consolidate) (?:dependencies of|compiler generated dependencies of) target \S+",
    r"(?:gmake|make)(?:\[[0-9]+\])?: (?:Entering|Leaving) directory [^\n]+",
    r"ninja: Entering directory [^\n]+",
    r"  +(?:CC|CXX|LD|AR|AS|GEN|HOSTCC|HOSTLD|CHK|UPD|WRAP|LDS|OBJCOPY|MODPOST|CCLD|CXXLD|DESCEND|SYNC|INSTALL|STRIP)"
    r"(?: \[M\])? +\S+",
    r"(?:/bin/)?(?:(?:ba)?sh )?(?:\S*/)?libtool:? [^\n]+",
    rf"(?:cd \S+ && )?{_COMPILER} [^\n]*-[co] [^\n]*",
    r"(?:\S*/)?(?:[a-z0-9_]+-)*(?:ar|ranlib) [^\n]*\.a(?: [^\n]*)?",
    r"mv -f \S+\.Tpo \S+\.Pl?o",
    r"depbase=[^\n]+",
    r"(?:cd \S+ && )?(?:\S*/)?cmake (?:-E|-S|-P|-H)[^\n]*",
    r"(?:\S*/)?g?make +-f [^\n]+",
    r"checking [^\n]+\.\.\. [^\n]+",
    r"config\.status: (?:creating|executing|linking) [^\n]+",
    r"-- (?:Detecting|Check for working|Looking for|Performing Test|Checking for|Check size of|Check if)\b[^\n]*",
)
# What a check did not find is the news of it.
_NOT_THERE = r"(?:checking|-- )[^\n]*(?:\.\.\.|-) *(?:no\b|none$|not |failed|missing|unsupported)[^\n]*"
_ALL_BUILT = r"\[100%\] Built target [^\n]+"
_WEB = (
    # vite, rollup, esbuild: phases and written files
    r"(?:transforming|rendering chunks|computing gzip size)\b[^\n]*",
    r" *(?:\./)?(?:dist|build|out|public|static|assets|\.next|\.output|es|lib)/\S+"
    r"\.(?:js|mjs|cjs|css|map|html|svg|png|jpe?g|webp|gif|ico|woff2?|ttf|wasm|json|txt"
    r"|d\.ts) +[0-9.,]+ ?[kKM]i?[bB]\b"
    r"(?: +│[^\n]*)?",
    # webpack
    r" *(?:<s> )?(?:\[webpack\.Progress\] )?[0-9]+% [^\n]*",
    r" *asset \S+ [0-9.]+ (?:bytes|[KM]iB)[^\n]*",
    r" *assets by [^\n]+",
    r" *(?:(?:cacheable|runtime|orphan|javascript|css|hidden|optional|asset) )?modules (?:by (?:path|layer|mime type)"
    r" )?[^\n]*[0-9.]+ (?:bytes|[KM]iB)[^\n]*",
    r" +(?:\+ )?[0-9]+ modules?",
    r" *\S+ [0-9.]+ (?:bytes|[KM]iB)(?: \{[^{}\n]*\})?"
    r"(?: \[(?:built|code generated|cached|emitted|rendered|initial)\])+[^\n]*",
    r"  +\| +\S[^\n]* [0-9.]+ (?:bytes|[KM]iB) \[built\][^\n]*",
    # Angular, Next
    r" *(?:chunk-|main|polyfills|styles|runtime)\S* +\| [^\n]+\| +[0-9.]+ [kM]B[^\n]*",
    r" *(?:┌|├|└|│|\+) [^\n]* [0-9.]+ k?B(?: +[0-9.]+ [kM]?B)?",
    r" *(?:Creating an optimized production build|Collecting page data|Collecting build traces"
    r"|Finalizing page optimization"
    r"|Generating static pages|Linting and checking validity of types)\b[^\n]*",
    r"TSFILE: \S[^\n]*",
    r"\[[0-9:]+ [AP]M\] (?:Project '[^\n]+' is up to date|Building project"
    r"|Updating (?:unchanged )?output timestamps)[^\n]*",
)
_GRADLE = (
    r"> Task :\S+ (?:UP-TO-DATE|NO-SOURCE|FROM-CACHE|SKIPPED)",
    r"> Transform [^\n]+",
    r"> (?:IDLE|Resolve [^\n]+|Configure project [^\n]+)",
    r"Download(?:ing)? https?://[^\n]+",
    r"(?:\.+[0-9]+%)+\.*",
    r"<[=-]+> [0-9]+% [^\n]*",
    r"Starting a Gradle Daemon[^\n]*",
    r"Daemon will be stopped at the end of the build[^\n]*",
    r":\S+ (?:UP-TO-DATE|NO-SOURCE|FROM-CACHE|SKIPPED)",
    # maven
    r"(?:\[INFO\] )?(?:Downloading|Downloaded)(?: from [^\s:]+)?: [^\n]+",
    r"Progress \([0-9]+\): [^\n]*",
    r"\[INFO\](?: -+(?:[<\[][^\n]+[>\]]-+)?)?",
    r"\[INFO\] (?:Scanning for projects\.\.\.|Using '[^\n]+' encoding|Copying [0-9]+ resources?|skip non existing"
    r"|Nothing to"
    r" compile|Changes detected|Compiling [0-9]+ source|No sources|Recompiling|Using auto detected|Using [^\n]*provider"
    r"|Installing \S+ to |Not copying|Including |Excluding |Attaching shaded)[^\n]*",
)
_GRADLE_STEPS = (
    r"> Task :\S+",
    r"\[INFO\] --- \S+:\S+ [^\n]*@ \S+ ---",
    r"\[INFO\] >>> [^\n]+",
    r"\[INFO\] <<< [^\n]+",
)
_DOTNET = (
    r" *Determining projects to restore\.\.\.",
    r" *(?:All|[0-9]+ of [0-9]+) projects are up-to-date for restore\.",
    r" *Restored \S[^\n]*\.[a-z]+proj \(in [^()\n]+\)\.",
    r" *\S+ -> \S[^\n]*\.(?:dll|exe|nupkg|pdb|lib|a|so)",
    r" *(?:GET|OK|CACHE|NotFound) https?://[^\n]+",
    r" *Installed \S+ \S+ from https?://[^\n]+",
    r" *[0-9]*>? ?(?:Project \"[^\n]+\" (?:on node|is building|\()[^\n]*|Done Building Project [^\n]+)",
    r" *Copying file from \"[^\n]+\" to \"[^\n]+\"\.",
    r" *(?:Skipping target|Creating directory) \"[^\n]+",
)
NOISE = (*_DOCKER, *_MAKE, *_WEB, *_GRADLE, *_DOTNET)
SIGNS = (
    r"#[0-9]+ \[[^\n]+\] (?:FROM|RUN|COPY|ADD|WORKDIR) [^\n]+",
    rf"#[0-9]+ {_SECONDS} [^\n]+",
    r"(?:Successfully (?:built|tagged)|writing image|naming to) [^\n]+",
    r"(?:g?make|ninja)(?:\[[0-9]+\])?: [^\n]+",
    r"-- [A-Z][^\n]+",
    r"(?:webpack|vite) v?[0-9][^\n]*",
    r"✓ [0-9]+ modules transformed\.?",
    r"BUILD (?:SUCCESSFUL|FAILED)[^\n]*",
    r"[0-9]+ actionable tasks?: [^\n]+",
    r"> Task :\S+ FAILED",
    r"\[(?:INFO|WARNING|ERROR)\] [^\n]+",
    r" *[0-9]+ (?:Warning|Error)\(s\)",
    r"Build succeeded\.?[^\n]*",
    r"[^\s:]+:[0-9]+(?::[0-9]+)?: (?:warning|error|note): [^\n]+",
    r"\S+\([0-9]+,[0-9]+\): (?:warning|error) [^\n]+",
)
_NOISES = noise_list(
    NOUN,
    NOISE,
    signs=(*SIGNS, *packages.SIGNS),
    also=packages.NOISE,
    announces=(*_DOCKER_STEPS, *_GRADLE_STEPS),
    but=(_ALL_BUILT, _NOT_THERE, *packages.BUT),
    prefix=rf"#[0-9]+ {_SECONDS} ",
)

_PROGRAMS = frozenset(
    {"make", "gmake", "cmake", "ninja", "meson", "gradle", "gradlew", "mvn", "mvnw", "mvnd", "ant", "sbt", "bazel"}
    | {"bazelisk", "tsc", "webpack", "vite", "rollup", "esbuild", "tsup", "turbo", "nx", "next", "nuxt", "astro", "ng"}
    | {"msbuild", "dotnet", "nuget", "docker", "docker-compose", "podman", "buildah", "nerdctl", "xcodebuild", "swift"}
    | {"configure", "scons", "waf", "b2", "parcel", "svelte-kit", "remix", "react-scripts", "vue-cli-service", "nmake"}
    | {"buildx", "kaniko", "skaffold", "earthly", "just", "electron-builder", "expo", "flutter", "zig", "idf.py"}
)
_NO_BUILD = {
    name: frozenset({"logs", "exec", "ps", "inspect", "images", "stats", "top", "cp"})
    for name in ("docker", "docker-compose", "podman", "nerdctl")
}
_TASK = task_word(
    *("build", "builds", "compile", "bundle", "dist", "package", "release", "deploy", "assemble", "docker", "image"),
    *(
        "webpack",
        "vite",
        "make",
        "start",
        "dev",
        "prod",
        "production",
        "compose",
        "publish",
        "prepare",
        "all",
        "configure",
    ),
)


def compact_build_output(text: str, failing: Failing = failure_numbers) -> str:
    """Count and drop the steps of a build that went well, downloads of packages among them.

    Warnings and errors with the lines about them, headings of the steps that wrote something, the summary and every
    line not known stay in order.

    Returns:
        The shorter text; the text itself when it holds no such run.
    """
    return drop_noise(text, _NOISES, failing)


def matches(tool_name: str, output: str) -> bool:
    """True for an output of a shell (or an unknown tool) that opens as a build's, or mostly is one."""
    return has_shape(tool_name, output, _NOISES)


def matches_context(context: ToolContext) -> bool:
    """True if the command runs a build tool, a task or script called after builds, or if no command is known."""
    if not context.command:
        return context.tool_class in ("shell", "")
    return any(builds(words) for words in simple_commands(context.command))


def builds(words: tuple[str, ...]) -> bool:
    """True if a simple command is a build tool, or a task or script called after builds."""
    program = program_of(words)
    if program in _PROGRAMS:
        return _NO_BUILD.get(program, frozenset()).isdisjoint(words[1:3])
    return names_task(words, _TASK)


RULE = CompactionRule(
    "build-output", matches, compact_build_output, matches_context, compact_knowing=compact_build_output
)
