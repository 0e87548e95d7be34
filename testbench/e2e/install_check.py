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
# Program, arguments, what it prints.
WANTED = [
    ("tlm_receiver", ["1000", "256"], r"1000 of 1000 SENDs of 256 bytes completed"),
    ("tlm_delay", [], r"1000 of 1000 SENDs completed\n(.*\n){2}the difference is 700 ns, as at the target"),
    ("fifo_receiver", ["1000"], r"1000 of 1000 SENDs completed, [1-9]\d* answers; (8\d|9\d) Gb/s of payload\n"
                                r"(\d+) doorbells written, \2 rung, 0 refused"),
    ("own_prefetch", [], r"the model's: 2000 of 2000 SENDs completed"),
    ("own_prefetch", ["0"], r"fixed window: 2000 of 2000 SENDs completed"),
    ("own_prefetch", ["8"], r"fixed window: 2000 of 2000 SENDs completed"),
    ("own_scatter", [], r"the model's scatter engine: 1000 of 1000 SENDs completed"),
    ("own_scatter", ["own"], r"a scatter engine of one's own: 1000 of 1000 SENDs completed"),
]


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
    """The installed program replays, and finds the library that programs load; completion and manual follow --help."""
    prefix = installed(bench)
    rxnic = prefix / "bin" / "rxnic"
    done_well(bench, "replay", rxnic, "replay", e2e.SAMPLE, "--quiet", "--out", "run")
    bench.expect_equal((bench.folder / "run" / "report.json").read_bytes(), report_of_build(bench), "report.json")
    expect_manual(bench, prefix)
    done_well(bench, "a command in Python", rxnic, "sweep", "--help", env={**os.environ, "RXNIC": "none"})
    seen = done_well(bench, "run", rxnic, "run", "--quiet", "--out", "live", "--", "sh", "-c", "echo $LD_LIBRARY_PATH")
    bench.expect(seen.stdout.startswith(str(prefix / "lib" / "rxnic")), f"the library's folder: {seen.stdout}")
    for name in ("two words", "a:b"):
        prefix = prefix.rename(bench.folder / name)
        done = bench.start(prefix / "bin" / "rxnic", "run", "--quiet", "--out", "live", "--", "true")
        bench.expect("found a space, colon or semicolon" in done.stderr, f"{name}: {done.stderr}")
        bench.expect_equal(done.returncode, 1, name)
    prefix = prefix.rename(bench.folder / "moved")
    blocks = {path.stem for path in (e2e.ROOT / "rtl").glob("*.sv")
              if (e2e.ROOT / "model" / "ports" / f"{path.stem}_ports.h").is_file()}
    for words, wanted in (("rep", {"replay", "report"}), ("replay --lock", {"--lockstep"}), ("replay --rtl ''", blocks),
                          ("run --lockstep ''", blocks), ("replay --psn s", {"strict"}),
                          ("sweep --dry", {"--dry-run"}), ("why --config nic_4", {"nic_400g_gen5"}),
                          ("replay --set dma_engine.tlp", {"dma_engine.tlp_rate_mbps="})):
        text = (f". {prefix}/share/bash-completion/completions/rxnic; COMP_WORDS=({rxnic} {words}); "
                "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _rxnic; echo ${COMPREPLY[*]}")
        bench.expect_equal(set(done_well(bench, "completion", "bash", "-c", text).stdout.split()), wanted, words)


def expect_manual(bench, prefix):
    """The manual page is that of the program beside it."""
    page = (prefix / "share" / "man" / "man1" / "rxnic.1").read_text(encoding="utf-8")
    bench.expect_equal(page, done_well(bench, "--manual", prefix / "bin" / "rxnic", "--manual").stdout, "manual page")
    bench.expect(r"\fB\-\-lockstep\fR" in page, "the manual page has no --lockstep")


def report_of_build(bench):
    done_well(bench, "replay", bench.options.rxnic, "replay", e2e.SAMPLE, "--quiet", "--out", "ours")
    return (bench.folder / "ours" / "report.json").read_bytes()


def expect_examples(bench, prefix, names):
    """The examples of these names, built outside of the project by find_package(rxnic), say what they should: what was
    said, by the command."""
    done_well(bench, "configure", "cmake", "-S", EXAMPLES, "-B", "examples", "-G", "Ninja",
              f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
    done_well(bench, "build", "cmake", "--build", "examples", "--target", *names)
    said = {}
    for name, arguments, wanted in WANTED:
        if name in names:
            done = done_well(bench, name, bench.folder / "examples" / name, *arguments, timeout=60)
            bench.expect(re.search(wanted, done.stdout), f"{name}: {done.stdout}")
            said[" ".join([name, *arguments])] = done.stdout
    return said


def expect_own_parts(bench, said):
    """A policy and a block of one's own act, by what the examples said."""
    waits = {window: int(re.search(r"(\d+) cycles in which packets waited", said[f"own_prefetch {window}"])[1])
             for window in (0, 8)}
    bench.expect(waits[8] < waits[0], f"a window of 8 WQEs and none: {waits} cycles of waiting")
    busy = {name: int(re.search(r"busy for (\d+)", said[name])[1]) for name in ("own_scatter", "own_scatter own")}
    bench.expect(busy["own_scatter own"] < busy["own_scatter"], f"cycles busy: {busy}")


def model(bench):
    """The installed model: the examples, by find_package, and a program by pkg-config."""
    prefix = installed(bench)
    expect_own_parts(bench, expect_examples(bench, prefix, sorted({name for name, *_ in WANTED})))
    pc = next(prefix.glob("lib/**/rxnic.pc"))
    environment = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}
    words = done_well(bench, "pkg-config", "pkg-config", "--cflags", "--libs", "rxnic", env=environment).stdout.split()
    (bench.folder / "least.cpp").write_text(
        '#include "model/ports/block_facts.h"\n#include "model/ports/grh_scatter_ports.h"\n'
        '#include "model/system/system.h"\n'
        "int sc_main(int, char**) { rxnic::LocalMemory m; rxnic::System s(\"s\", {}, m);\n"
        "  return s.nics() != 1 || rxnic::GrhScatterPorts::facts({}).ports.size() != 4; }\n")
    done_well(bench, "pkg-config's words", "c++", "least.cpp", *words, "-o", "least")
    done_well(bench, "least", bench.folder / "least")
    place = re.compile(rf"(?<![\w./}}-]){re.escape(str(e2e.ROOT))}\b")  # include/rxnic is no /rxnic
    absolute = [str(path) for path in prefix.rglob("*.cmake") if place.search(path.read_text(encoding="utf-8"))]
    bench.expect_equal(absolute, [], "files that name the build's place")


def headers_and_archives(prefix):
    """{name: its bytes} of what programs outside of the project are built with."""
    return {path.name if path.suffix == ".a" else str(path.relative_to(prefix)): path.read_bytes()
            for path in prefix.rglob("*") if path.suffix in (".h", ".a")}


def package(bench):
    """The Debian packages that cpack makes, of the program and of the model: both work where they are unpacked."""
    for tool in ("dpkg-deb", "dpkg-shlibdeps", "file"):
        if not shutil.which(tool):
            raise e2e.Skip(f"{tool} is not installed")
    done_well(bench, "cpack", "cpack", "-G", "DEB", "--config", bench.options.build / "CPackConfig.cmake", "-B",
              "packages")
    made = {path.name.split("_")[0]: path for path in (bench.folder / "packages").glob("*.deb")}
    bench.expect_equal(sorted(made), ["librxnic-dev", "rxnic"], "packages")
    for path in made.values():
        done_well(bench, "dpkg-deb -x", "dpkg-deb", "-x", path, "root")
    said = done_well(bench, "dpkg-deb -I", "dpkg-deb", "-f", made["rxnic"], "Depends").stdout
    bench.expect("libsystemc" in said, f"what the program depends on: {said}")
    root = bench.folder / "root" / "usr"
    expect_manual(bench, root)
    done_well(bench, "replay", root / "bin" / "rxnic", "replay", e2e.SAMPLE, "--quiet", "--out", "run")
    bench.expect_equal((bench.folder / "run" / "report.json").read_bytes(), report_of_build(bench), "report.json")
    expect_examples(bench, root, ["tlm_receiver"])
    bench.expect_equal(headers_and_archives(root), headers_and_archives(installed(bench)), "files of the model")


def alone(bench):
    """RXNIC_BRIDGE=OFF: the model without the program; tests need the program. With link-time optimization its archives
    have machine code, too."""
    configure = ["cmake", "-S", e2e.ROOT, "-B", "alone", "-G", "Ninja", "-DRXNIC_BRIDGE=OFF"]
    refused = bench.start(*configure)
    bench.expect(refused.returncode != 0 and "RXNIC_TESTS or RXNIC_FUZZ ON" in refused.stderr, refused.stderr)
    done_well(bench, "configure", *configure, "-DRXNIC_TESTS=OFF", "-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON")
    targets = done_well(bench, "targets", "cmake", "--build", "alone", "--target", "help").stdout
    bench.expect("rxnic_system" in targets and "rxnic_verbs" not in targets, targets[:2000])
    made = "model/params/CMakeFiles/rxnic_params.dir/text_file.cpp.o"
    done_well(bench, "one object", "cmake", "--build", "alone", "--target", made)
    found = done_well(bench, "readelf", "readelf", "-SsW", bench.folder / "alone" / made).stdout
    bench.expect(".gnu.lto_" in found, "link-time optimization: no bytecode")
    code = re.search(r"FUNC +GLOBAL +DEFAULT +\d+ _ZN5rxnic12open_to_read", found)
    bench.expect(code and "__gnu_lto_slim" not in found, f"link-time optimization: no machine code: {found[:2000]}")


def lines(bench):
    """An example is a page or two: below 150 lines."""
    for path in EXAMPLES.glob("*.cpp"):
        count = len(path.read_text(encoding="utf-8").splitlines())
        bench.expect(count < 150, f"{path.name}: {count} lines")


CHECKS = {"program": program, "model": model, "package": package, "alone": alone, "lines": lines}

if __name__ == "__main__":
    parser = e2e.parser_for(__doc__, CHECKS)
    parser.add_argument("--build", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FOLDER",
                        help="the build that is installed")
    if not shutil.which("cmake"):
        sys.exit(subprocess.call(["echo", "skipped: cmake is not installed"]) or e2e.SKIPPED)
    sys.exit(e2e.run(parser, CHECKS))
