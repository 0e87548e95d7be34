# SPDX-License-Identifier: Apache-2.0
"""The table of rules and their live tests (testbench/live/rules_covered.md), compared with rules, tests and checks.

A check of testbench/live is a top-level function of a `*_check.py` that CHECKS names. It runs a suite whose name it
holds as a string, and reads a counter that it holds as "block.counter", "block")["counter"] or block__counter=. Below a
head whose last column is "counters" each row names one, or says why there is none.
"""
import re

# Sections of model/RULES.md that a program sees at the verbs, where their rows are, and points without a test yet.
SEEN_BY_PROGRAMS = {"1", "2", "3", "4", "5"}
COVERED = "testbench/live/rules_covered.md"
NOT_COVERED = set()


def points_of(tree):
    """(section, number) of each point of model/RULES.md."""
    section = ""
    for line in tree.text("model/RULES.md").splitlines() if "model/RULES.md" in tree.files else []:
        if heading := re.match(r"## (\d+) ", line):
            section = heading[1]
        elif point := re.match(r"(\d+)\. ", line):
            yield section, point[1]


def checks_of(tree):
    """{live.script.check: text of its function}."""
    found = {}
    for name in tree.files:
        script = re.match(r"testbench/live/(\w+)_check\.py$", name)
        if not script:
            continue
        text = tree.text(name)
        functions = {part[1]: part[0] for part in re.finditer(r"^def (\w+)\(.*?(?=^\S|\Z)", text, re.M | re.S)}
        for check, function in re.findall(r'"(\w+)":\s*(\w+)\b', text.partition("\nCHECKS = ")[2]):
            if function in functions:
                found[f"live.{script[1]}.{check}"] = functions[function]
    return found


def suite_tests(tree):
    """Suite.Test of all live suites."""
    for name in tree.files:
        if re.match(r"testbench/live/\w+_test\.cpp$", name):
            yield from map(".".join, re.findall(r"^TEST(?:_[PF])?\((\w+), (\w+)\)", tree.text(name), re.M))


def reads(function, counter):
    block, _, name = counter.partition(".")
    return (re.search(rf"\b{block}__{name}=", function)
            or any(form in function for form in (f'"{counter}"', f'"{block}")["{name}"]')))


def offences(tree):
    """What is wrong in COVERED: a missing row, a test that does not exist, no counter, or one that no check reads."""
    if COVERED not in tree.files:
        return
    checks, tests, rows = checks_of(tree), set(suite_tests(tree)), {}
    must_count = False
    for number, line in enumerate(tree.text(COVERED).splitlines(), 1):
        must_count |= re.match(r"\| rule \|.*\| counters \|$", line) is not None
        row = re.match(r"\| (\d+\.\d+) \|[^|]*\|([^|]*)\|([^|]*)\|$", line)
        if not row:
            continue
        named = rows[row[1]] = re.findall(r"`([^`]+)`", row[2])
        for test in named:
            if test not in tests and test not in checks:
                yield f"{COVERED}:{number}: there is no live test {test}"
        suites = {test.partition(".")[0] for test in named}
        of_row = [function for check, function in checks.items()
                  if check in named or any(f'"{suite}"' in function for suite in suites)]
        counters = re.findall(r"`([^`]+)`", row[3])
        if must_count and not counters and not re.match(r" none: \S", row[3]):
            yield f"{COVERED}:{number}: rule {row[1]} has no counter; expected `block.counter`, or none: and the reason"
        for counter in counters:
            if not re.fullmatch(r"\w+\.\w+", counter):
                yield f"{COVERED}:{number}: found {counter}; expected block.counter"
            elif not any(reads(function, counter) for function in of_row):
                yield f"{COVERED}:{number}: no check that runs these tests reads the counter {counter}"
    points = [f"{section}.{number}" for section, number in points_of(tree) if section in SEEN_BY_PROGRAMS]
    for point in points:
        if not rows.get(point) and point not in NOT_COVERED:
            yield f"{COVERED}: rule {point} has no live test"
    for point in sorted(set(rows) - set(points)):
        yield f"{COVERED}: model/RULES.md has no point {point} in the sections that programs see"
    for point in sorted(point for point in NOT_COVERED if rows.get(point)):
        yield f"{COVERED}: rule {point} has a live test: take it out of NOT_COVERED"
