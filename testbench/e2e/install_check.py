#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `cmake --install` leaves: the program, which runs from any place, and the model as a library for programs
outside of the project (testbench/examples)."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import e2e

EXAMPLES = e2e.ROOT / "testbench" / "examples"
WANTED = {"tlm_receiver": (["1000", "256"], r"1000 of 1000 SENDs of 256 bytes completed")}


def done_well(bench, what, *command, **how):
    done = bench.start(*command, **how)
    bench.expect_equal(done.returncode, 0, f"{what}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done


def installed(bench):
    """The installation, at a place other than the one for which it was made."""
    made, moved = bench.folder / "made", bench.folder / "moved"
    done_well(bench, "cmake --install", "cmake", "--install", bench.options.build, "--prefix", made)
    made.rename(moved)
    return moved


def program(bench):
    """The installed program replays, and finds the library that programs load; the completion follows --help."""
    prefix = installed(bench)
    rxnic = prefix / "bin" / "rxnic"
    done_well(bench, "replay", rxnic, "replay", e2e.SAMPLE, "--quiet", "--out", "run")
    bench.expect_equal((bench.folder / "run" / "report.json").read_bytes(), report_of_build(bench), "report.json")
    seen = done_well(bench, "run", rxnic, "run", "--quiet", "--out", "live", "--", "sh", "-c", "echo $LD_LIBRARY_PATH")
    bench.expect(seen.stdout.startswith(str(prefix / "lib" / "rxnic")), f"the library's folder: {seen.stdout}")
    text = (f". {prefix}/share/bash-completion/completions/rxnic; COMP_WORDS=({rxnic} replay --lock); COMP_CWORD=2; "
            "_rxnic; echo ${COMPREPLY[*]}; COMP_WORDS=(" f"{rxnic} rep); COMP_CWORD=1; _rxnic; echo ${{COMPREPLY[*]}}")
    found = done_well(bench, "completion", "bash", "-c", text).stdout.split("\n")
    bench.expect_equal([set(line.split()) for line in found[:2]], [{"--lockstep"}, {"replay", "report"}], "completion")


def report_of_build(bench):
    done_well(bench, "replay", bench.options.rxnic, "replay", e2e.SAMPLE, "--quiet", "--out", "ours")
    return (bench.folder / "ours" / "report.json").read_bytes()


def model(bench):
    """The examples, built outside of the project by find_package(rxnic), and one by pkg-config."""
    prefix = installed(bench)
    done_well(bench, "configure", "cmake", "-S", EXAMPLES, "-B", "examples", "-G", "Ninja",
              f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
    done_well(bench, "build", "cmake", "--build", "examples")
    for name, (arguments, wanted) in WANTED.items():
        done = done_well(bench, name, bench.folder / "examples" / name, *arguments, timeout=60)
        bench.expect(re.search(wanted, done.stdout), f"{name}: {done.stdout}")
    pc = next(prefix.glob("lib/**/rxnic.pc"))
    environment = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}
    words = done_well(bench, "pkg-config", "pkg-config", "--cflags", "--libs", "rxnic", env=environment).stdout.split()
    (bench.folder / "least.cpp").write_text(
        '#include "model/system/system.h"\n'
        "int sc_main(int, char**) { rxnic::LocalMemory m; rxnic::System s(\"s\", {}, m); return s.nics() != 1; }\n")
    done_well(bench, "pkg-config's words", "c++", "least.cpp", *words, "-o", "least")
    done_well(bench, "least", bench.folder / "least")
    absolute = [str(path) for path in prefix.rglob("*.cmake") if str(e2e.ROOT) in path.read_text(encoding="utf-8")]
    bench.expect_equal(absolute, [], "files that name the build's place")


def lines(bench):
    """An example is a page or two: below 150 lines."""
    for path in EXAMPLES.glob("*.cpp"):
        count = len(path.read_text(encoding="utf-8").splitlines())
        bench.expect(count < 150, f"{path.name}: {count} lines")


CHECKS = {"program": program, "model": model, "lines": lines}

if __name__ == "__main__":
    parser = e2e.parser_for(__doc__, CHECKS)
    parser.add_argument("--build", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FOLDER",
                        help="the build that is installed")
    if not shutil.which("cmake"):
        sys.exit(subprocess.call(["echo", "skipped: cmake is not installed"]) or e2e.SKIPPED)
    sys.exit(e2e.run(parser, CHECKS))
