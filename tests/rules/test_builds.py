"""Steps of a build that went well are counted; warnings, errors, their code and the summary stay."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_laws import check_laws, check_linear

from pipeline.rules.base import ToolContext
from pipeline.rules.builds import RULE, compact_build_output

NOISE = {
    "docker done": "#12 DONE 0.3s",
    "docker cached": "#7 CACHED",
    "docker context": "#4 transferring context: 12.30kB 0.0s done",
    "docker layer": "#5 sha256:0a1b2c3d4e5f 12.58MB / 29.13MB 0.4s",
    "docker extract": "#5 extracting sha256:0a1b2c3d4e5f 0.7s done",
    "docker internal": "#1 [internal] load build definition from Dockerfile",
    "docker empty": "#12 1.204",
    "docker apt": "#9 3.411 Setting up libhay1:amd64 (1.0-2) ...",
    "docker pip": "#10 1.922 Collecting idna<4,>=2.5 (from requests)",
    "docker terminal": " => [builder 3/7] COPY package.json ./                                 0.1s",
    "docker terminal context": " => => transferring context: 2B                                          0.0s",
    "docker terminal head": "[+] Building 12.3s (14/18)",
    "docker old layer": " ---> 0a1b2c3d4e5f",
    "docker old removed": "Removing intermediate container 0a1b2c3d4e5f",
    "docker pull": "0a1b2c3d4e5f: Pull complete",
    "docker pull bar": "0a1b2c3d4e5f: Downloading [====>          ]  1.2MB/29.1MB",
    "compose": " Container barn-db-1  Creating",
    "cmake": "[ 12%] Building CXX object src/CMakeFiles/barn.dir/gate.cpp.o",
    "cmake link": "[ 98%] Linking CXX executable barn",
    "cmake target": "[ 40%] Built target hay",
    "cmake configure": "-- Detecting CXX compiler ABI info - done",
    "cmake look": "-- Looking for pthread.h - found",
    "ninja": "[3/40] Building CXX object CMakeFiles/y.dir/f1.cpp.o",
    "ninja verbose": "[4/40] /usr/bin/c++ -MD -MT f1.o -o f1.o -c /srv/barn/f1.cpp",
    "bazel": "[1,204 / 3,400] Compiling src/gate.cc; 3s linux-sandbox",
    "make folder": "make[2]: Entering directory '/srv/barn/build'",
    "make compile": "gcc -Wall -O2 -c -o gate.o gate.c",
    "make cross": "/opt/bin/aarch64-linux-gnu-g++ -O2 -c src/gate.cc -o gate.o",
    "make archive": "ar rcs libhay.a hay.o straw.o",
    "make move": "mv -f .deps/gate.Tpo .deps/gate.Po",
    "libtool": "/bin/bash ./libtool --tag=CC --mode=compile gcc -c gate.c",
    "kbuild": "  CC [M]  drivers/barn/gate.o",
    "configure": "checking for gcc option to accept ISO C89... none needed",
    "configure status": "config.status: creating Makefile",
    "scan": "Scanning dependencies of target barn",
    "vite": "dist/assets/index-DiwrgTda.js   143.41 kB │ gzip: 46.11 kB",
    "vite phase": "transforming (123) src/gate.ts",
    "webpack asset": "asset main.3f2a9c.js 1.2 MiB [emitted] [immutable] (name: main)",
    "webpack modules": "    modules by path ./src/components/*.tsx 12.1 KiB",
    "webpack module": "  ./src/gate.ts 1.2 KiB [built] [code generated]",
    "webpack share": "<s> [webpack.Progress] 40% building 12/30 modules",
    "next": "├ ○ /about                               1.2 kB         88.4 kB",
    "tsc": "TSFILE: /srv/barn/dist/gate.js",
    "gradle": "> Task :app:compileJava UP-TO-DATE",
    "gradle download": "Download https://repo.maven.apache.org/maven2/org/hay/1.0/hay-1.0.pom",
    "gradle wrapper": "..........10%..........20%..........30%",
    "gradle bar": "<=====--------> 40% EXECUTING [12s]",
    "maven": "Downloading from central: https://repo.maven.apache.org/maven2/org/hay/1.0/hay-1.0.pom",
    "maven info": "[INFO] Downloaded from central: https://repo.maven.apache.org/hay-1.0.pom (2 kB at 12 kB/s)",
    "maven rule": "[INFO] ------------------------------------------------------------------------",
    "maven head": "[INFO] --------------------------------[ jar ]---------------------------------",
    "maven chatter": "[INFO] Using 'UTF-8' encoding to copy filtered resources.",
    "maven compile": "[INFO] Compiling 12 source files to /srv/barn/target/classes",
    "dotnet restored": "  Restored /srv/barn/Barn.csproj (in 212 ms).",
    "dotnet output": "  Barn -> /srv/barn/bin/Debug/net8.0/Barn.dll",
    "nuget": "  GET https://api.nuget.org/v3-flatcontainer/hay/index.json",
    "msbuild": '     1>Done Building Project "/srv/barn/Barn.csproj" (Build target(s)).',
    "npm inside": "npm http fetch GET 200 https://registry.npmjs.org/mocha 77ms (cache miss)",
    "cargo inside": "   Compiling serde v1.0.219",
}
KEPT = {
    "docker step": "#9 [3/7] RUN apt-get update",
    "docker output": "#12 0.345 the barn has 12 doors",
    "docker error": '#12 ERROR: process "/bin/sh -c npm ci" did not complete successfully: exit code: 1',
    "docker terminal error": " => ERROR [4/9] RUN npm ci                                             12.3s",
    "docker built": "Successfully built 0a1b2c3d4e5f",
    "docker image": "#15 writing image sha256:0a1b2c3d4e5f done",
    "compose started": " Container barn-db-1  Started",
    "cmake done": "[100%] Built target barn",
    "cmake found": "-- Found OpenSSL: /usr/lib/libcrypto.so (found version 3.0.15)",
    "cmake error": "CMake Error at CMakeLists.txt:3 (find_package):",
    "gcc": "gate.cpp:12:3: warning: unused variable ‘hay’ [-Wunused-variable]",
    "gcc code": "   12 |   int hay = 3;",
    "gcc caret": "      |       ^~~",
    "gcc function": "gate.cpp: In function ‘int gate()’:",
    "ninja failed": "FAILED: CMakeFiles/y.dir/f3.cpp.o",
    "make error": "make: *** [Makefile:12: gate.o] Error 1",
    "make nothing": "make: Nothing to be done for 'all'.",
    "tsc": "src/gate.ts(12,3): error TS2322: Type 'string' is not assignable to type 'number'.",
    "vite": "✓ 123 modules transformed.",
    "vite warning": "(!) Some chunks are larger than 500 kB after minification.",
    "webpack": "webpack 5.97.1 compiled with 1 warning in 1234 ms",
    "webpack warning": "WARNING in ./src/gate.ts 12:3-8",
    "gradle": "BUILD SUCCESSFUL in 12s",
    "gradle failed": "> Task :app:compileJava FAILED",
    "gradle count": "12 actionable tasks: 3 executed, 9 up-to-date",
    "maven": "[INFO] BUILD SUCCESS",
    "maven warning": "[WARNING] The POM for org.hay:hay:jar:1.0 is invalid",
    "maven reactor": "[INFO] barn-core .......................................... SUCCESS [  1.2 s]",
    "dotnet": "Build succeeded.",
    "dotnet warnings": "    2 Warning(s)",
    "dotnet warning": "/srv/barn/Gate.cs(12,3): warning CS0168: The variable 'hay' is declared but never used",
    "own output": "the barn has 12 doors",
    "list": "- gate.cpp",
}

UNLIKE = ("gcc caret",)
"""A caret belongs to the line above, whatever that is."""


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in NOISE.items()])
def test_steps_are_counted(line: str) -> None:
    run = f"{line}\n" * 4
    assert compact_build_output(f"first\n{run}\n{line}\nlast\n") == "first\n… [5 build progress lines elided] …\nlast\n"


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in KEPT.items() if name not in UNLIKE])
def test_all_other_lines_stay(line: str) -> None:
    steps = "[ 12%] Building CXX object CMakeFiles/a.o\n" * 3
    assert compact_build_output(f"{steps}{line}\n{line}\n") == (
        f"… [3 build progress lines elided] …\n{line}\n{line}\n"
    )


def test_the_heading_of_a_task_stays_where_the_task_wrote_something() -> None:
    text = (
        "> Task :app:preBuild UP-TO-DATE\n> Task :app:generateSources\n> Task :app:compileJava\n"
        "Note: Gate.java uses unchecked operations.\n> Task :app:classes\n"
        "> Task :app:copyResources UP-TO-DATE\n\nBUILD SUCCESSFUL in 3s\n"
    )
    assert compact_build_output(text) == (
        "… [2 build progress lines elided] …\n> Task :app:compileJava\nNote: Gate.java uses unchecked operations.\n"
        "… [2 build progress lines elided] …\n\nBUILD SUCCESSFUL in 3s\n"
    )


def test_the_step_that_failed_stays_known() -> None:
    text = (
        "Step 1/3 : FROM node:20\n ---> 0a1b2c3d4e5f\nStep 2/3 : COPY . .\n ---> Using cache\n ---> 1a1b2c3d4e5f\n"
        "Step 3/3 : RUN npm ci\nThe command '/bin/sh -c npm ci' returned a non-zero code: 1\n"
    )
    assert compact_build_output(text) == (
        "… [5 build progress lines elided] …\nStep 3/3 : RUN npm ci\n"
        "The command '/bin/sh -c npm ci' returned a non-zero code: 1\n"
    )


BUILD = "".join(f"[{n:3}%] Building CXX object CMakeFiles/f{n}.o\n" for n in range(60)) + "[100%] Built target barn\n"
MAKEFILE = "all: gate.o\n\tgcc -o barn gate.o\ngate.o: gate.c\n\tgcc -c -o gate.o gate.c\n" * 9
GUIDE = "# Build\n\n```\n" + BUILD[:400] + "```\n\nThen run it.\n" + "More text.\n" * 50


@pytest.mark.parametrize(
    ("tool", "text", "expected"),
    [
        pytest.param("Bash", BUILD, True, id="build"),
        pytest.param("Bash", "$ cmake --build b\n" + BUILD, True, id="build with its command"),
        pytest.param("", BUILD, True, id="unknown tool"),
        pytest.param("Read", BUILD, False, id="read of a saved log"),
        pytest.param("Bash", MAKEFILE, False, id="makefile"),
        pytest.param("Bash", GUIDE, False, id="guide that quotes a build"),
        pytest.param("Bash", "text\n" * 90 + BUILD[:300], False, id="some lines somewhere"),
    ],
)
def test_only_the_shape_of_a_build_matches(tool: str, text: str, expected: bool) -> None:
    assert RULE.matches(tool, text) is expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param("cmake --build build -j8", True, id="cmake"),
        pytest.param("make -j8 2>&1 | tail -50", True, id="make"),
        pytest.param("docker build -t barn .", True, id="docker"),
        pytest.param("docker compose up -d --build", True, id="compose"),
        pytest.param("./gradlew assemble", True, id="gradle"),
        pytest.param("mvn -B package", True, id="maven"),
        pytest.param("cd web && npm run build", True, id="npm script"),
        pytest.param("./build.sh", True, id="script"),
        pytest.param("docker logs barn", False, id="docker logs"),
        pytest.param("docker compose logs worker", False, id="compose logs"),
        pytest.param("cat build.log", False, id="cat"),
        pytest.param("grep -rn Building src", False, id="grep"),
        pytest.param("git log", False, id="git"),
        pytest.param("", True, id="unknown"),
    ],
)
def test_the_command_has_to_build(command: str, expected: bool) -> None:
    assert RULE.matches_context is not None
    assert RULE.matches_context(ToolContext(command=command, tool_class="shell")) is expected


LINES = [*NOISE.values(), *KEPT.values(), "", "  ", "> Task :app:jar", "Step 1/3 : FROM a", "1%\r2%", "half \udcff"]


@given(st.lists(st.sampled_from(LINES), max_size=40).map("\n".join))
def test_laws(text: str) -> None:
    check_laws(compact_build_output, text, KEPT.values())


@pytest.mark.benchmark
@pytest.mark.parametrize(
    "unit",
    ["[1/2] ", "gcc -c ", "\n", "a: Pull", "[1/2] Building a\n", "#1 0.1 ", "> Task :a\n", " => [", "a -> b", "a/"],
)
def test_time_is_linear(unit: str) -> None:
    check_linear(compact_build_output, unit)
    check_linear(lambda text: RULE.matches("Bash", text), unit)


@pytest.mark.benchmark
def test_a_text_of_all_kinds_of_lines_is_searched_fast() -> None:
    """One pattern of all lines would not fit into the memory of a fast search, and take seconds for this."""
    text = "".join(f"{line}\n" for line in LINES if line.isprintable()) * 60
    start = time.process_time()
    compact_build_output(text)
    assert time.process_time() - start < 2
