#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rdma-core's own test suite, unmodified, from Debian's python3-pyverbs, on rxnic0 with `rxnic run --network own`: it
takes addresses from `ip addr show rxnic0`. Nothing hangs. With RXNIC_NETWORK=host it runs in the host's network, where
`ip` shows no such interface. How much of the suite passes there is for the table of programs.

What may be skipped, or fails, is listed here by name with the reason; anything else is a failure of the check.
"""
import gzip
import os
import pathlib
import re
import shutil
import sys

import live
from live import e2e

SUITE = pathlib.Path("/usr/share/doc/rdma-core/tests")
PYTHON = "/usr/bin/python3"  # Debian's packages are for Debian's Python
NETWORK = os.environ.get("RXNIC_NETWORK", "own")
MODULES = ("test_addr", "test_pd", "test_cq", "test_cq_events", "test_cqex", "test_fork", "test_relaxed_ordering",
           "test_qpex", "test_qp", "test_parent_domain", "test_device", "test_mr", "test_atomic", "test_tag_matching",
           "test_rdmacm", "test_odp", "test_flow", "test_rss_traffic",
           "test_shared_pd")
MAY_BE_SKIPPED = {  # by pattern: the reason
    r"test_dmabuf_": "no GPU here, and no dma-buf",
    r"test_(odp_rc_)?huge_": "the host has no free huge pages (vm.nr_hugepages); with them it passes",
}
# By the reason that the test gives: tests of RAW_PACKET ask for root, on whichever device.
ONLY_FOR_ROOT = "skipped 'Must be run by root on Ethernet link layer'"
ONLY_RAW_QP = "skipped 'To Create RAW QP must be done by root on Ethernet link layer'"

FAILS = {"test_multi_process_alloc_dm": "a forked child cannot use its parent's device (bridge/verbs/README.md)"}


def unpack(folder):
    """The suite with its compressed files unpacked."""
    if not (SUITE / "run_tests.py").exists():
        raise e2e.Skip("python3-pyverbs is not installed")
    live.need("ip")
    target = folder / "tests"
    target.mkdir()
    for file in SUITE.iterdir():
        if file.suffix == ".gz":
            with gzip.open(file) as packed, open(target / file.stem, "wb") as plain:
                shutil.copyfileobj(packed, plain)
        elif file.is_file():
            shutil.copy(file, target)
    return target


def results(text):
    """{test: ok, FAIL, ERROR or skipped...}: from the output of unittest -v, whatever the tests print in between."""
    found, test = {}, None
    for line in text.splitlines():
        named = re.match(r"(test_\w+) \(tests\.", line)
        test = named[1] if named else test
        ended = re.search(r"(ok|FAIL|ERROR|skipped .*)$", line)
        if test and ended:
            found[test] = ended[1]
            test = None
    return found


def module(name):
    def check(bench):
        tests = unpack(bench.folder)
        users = []
        for user, uid in live.users().items():
            # Some tests make the program wait for 10 s at most before they fail by themselves. Their children end by
            # _exit() with the device open, which is a death to `run` (--grace).
            program = live.Run(bench, uid).start(PYTHON, "-B", tests / "run_tests.py", "--dev", "rxnic0", "-v",
                                                 f"tests.{name}", arguments=["--network", NETWORK, "--grace", "off"])
            code = program.wait()
            text = program.text()
            if code == 1 and "--network own: the kernel refuses" in text:
                print(f"{name} is left out as {user}: {text.strip()}")
                continue
            users.append(user)
            found = results(text)
            if NETWORK == "host":
                bench.expect(found, f"{name}: nothing ran: {text}")
                print(f"{name}: {list(found.values()).count('ok')} of {len(found)} passed")
                continue
            bench.expect((code == 0) == FAILS.keys().isdisjoint(found), f"exit code {code}: {program.story()}")
            ran = re.search(r"^Ran (\d+) tests?", text, re.M)
            bench.expect(ran and int(ran[1]) == len(found),
                         f"{name}: {ran and ran[0]}, understood {len(found)}: {text}")
            passed = for_root = 0
            for test, result in found.items():
                if result.startswith("skipped"):
                    reason = next((why for name, why in MAY_BE_SKIPPED.items() if re.match(name, test)), None)
                    if user != "root" and result in (ONLY_FOR_ROOT, ONLY_RAW_QP):
                        reason, for_root = "for root", for_root + 1
                    bench.expect(reason, f"{test}: {result}")
                    print(f"{test}: {result} ({reason or 'not expected'})")
                elif test in FAILS:
                    bench.expect(result == "FAIL", f"{test}: {result}; listed as failing")
                    print(f"{test}: {result} ({FAILS[test]})")
                else:
                    bench.expect(result == "ok", f"{test}: {result}")
                    passed += result == "ok"
            bench.expect(passed + for_root > 0, f"{name}: nothing passed: {text}")
            print(f"{name}: {passed} of {len(found)} passed")
        if not users:
            raise e2e.Skip(text.strip())

    check.__doc__ = f"tests.{name}"
    return check


CHECKS = {name.removeprefix("test_"): module(name) for name in MODULES}

if __name__ == "__main__":
    sys.exit(e2e.run(live.parser_for(__doc__, CHECKS), CHECKS))
