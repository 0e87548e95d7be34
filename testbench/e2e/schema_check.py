#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.json of the sample and of every capture, both sides, against the schema of `rxnic report --schema`."""
import copy
import json
import sys
import tomllib

import e2e

COUNTERS = e2e.ROOT / "model" / "types" / "counters.toml"
NOT_IN_EVERY_NIC = {"requester"}
ALSO_IN_TRANSPORT = {"messages", "rnr_naks", "cnps"}  # counted elsewhere, shown next to what they are compared with


def validator(bench):
    try:
        import jsonschema  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise e2e.Skip("the Python module jsonschema") from None
    schema = json.loads(bench.rxnic("report", "--schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def counted(bench, report, what):
    """The report of a NIC has the counters of counters.toml, each in its place, and no others."""
    described = json.loads(bench.rxnic("counters", "--json").stdout)
    places = {"transport": set(ALSO_IN_TRANSPORT)}
    for name in tomllib.loads(COUNTERS.read_text(encoding="utf-8")):
        places.setdefault(described[name]["report"], set()).update(described[name]["counters"])
    for place, keys in places.items():
        path = place.split(".")
        absent = path[0] == "blocks" and path[1] in NOT_IN_EVERY_NIC - report["blocks"].keys()
        if absent or path == ["fabric"]:
            continue
        bench.expect_equal(sorted(at(report, path)), sorted(keys), f"{what}: {place}")
    bench.expect_equal(report["transport"]["messages"], report["messages"], f"{what}: messages that were carried out")
    unknown = [stem for stem in report["blocks"] if f"blocks.{stem}.counters" not in places]
    bench.expect_equal(unknown, [], f"{what}: blocks without a section")
    return places


def fits(bench, report, schema, what):
    for error in schema.iter_errors(report):
        bench.expect(False, f"{what}: {'/'.join(map(str, error.absolute_path))}: {error.message}")
    packets = report["packets"]
    dropped = packets["dropped"]
    bench.expect_equal(packets["accepted"] + packets["not_rdma"] + dropped["total"], packets["seen"], f"{what}: seen")
    bench.expect_equal(sum(n for reason, n in dropped.items() if reason != "total"), dropped["total"],
                       f"{what}: dropped")
    answers = report["answers"]
    given = answers["given"]
    bench.expect_equal(answers["equal"] + given + answers["different"], answers["compared"], f"{what}: answers")


def both_sides(bench, traces):
    schema = validator(bench)
    for trace in traces:
        for side in bench.sides(trace):
            report = bench.replay(trace, "--receiver", side)
            if report is not None:
                fits(bench, report, schema, f"{trace.name} {side}")
                counted(bench, report, f"{trace.name} {side}")


def sample(bench):
    """The project's own sample."""
    both_sides(bench, [e2e.SAMPLE])


def soft_roce(bench):
    """The shared captures of software RoCE."""
    both_sides(bench, e2e.shared_captures("soft_roce"))


def nic(bench):
    """The shared captures of hardware NICs."""
    both_sides(bench, e2e.shared_captures("nic"))


def programs(bench):
    """A run of a program, without and with other NICs; and what is of a capture does not fit there."""
    schema = validator(bench)
    for nics in ("1", "3"):
        done = bench.rxnic("run", "--quiet", "--nics", nics, "--out", nics, "--", "true")
        bench.expect_equal(done.returncode, 0, f"run: {done.stderr}")
        report = json.loads((bench.folder / nics / "report.json").read_text(encoding="utf-8"))
        for error in schema.iter_errors(report):
            bench.expect(False, f"{nics} NICs: {'/'.join(map(str, error.absolute_path))}: {error.message}")
        bench.expect_equal(len(report["nics"]), int(nics), "nics")
        for one in report["nics"]:
            places = counted(bench, one, f"{nics} NICs")
        bench.expect_equal(sorted(report["fabric"]), sorted(places["fabric"]), "fabric")
        for key in list(report):
            spoilt = {k: v for k, v in report.items() if k != key}
            bench.expect(not schema.is_valid(spoilt), f"the schema does without {key}")
        for key in list(report["nics"][0]):
            spoilt = copy.deepcopy(report)
            del spoilt["nics"][0][key]
            bench.expect(not schema.is_valid(spoilt), f"the schema does without nics/0/{key}")
    capture = bench.replay(e2e.SAMPLE)
    for key in ("trace", "answers", "blocks"):
        bench.expect(not schema.is_valid({**report, key: capture[key]}), f"the schema takes {key} of a capture")
    for key in ("nics", "programs", "one_way_latency_ns"):
        bench.expect(not schema.is_valid({**capture, key: report[key]}), f"the schema takes {key} with a capture")


def self_check(bench):
    """A report without one of its keys, with one more, or with one of another type does not fit."""
    schema = validator(bench)
    report = bench.replay(e2e.SAMPLE)
    bench.expect(schema.is_valid(report), "the report itself does not fit")

    def objects(node, path):
        if isinstance(node, dict):
            yield path
            for key, value in node.items():
                yield from objects(value, [*path, key])

    for path in objects(report, []):
        # Open maps: parameters by section and key, counters by name.
        if path[:2] in (["config", "values"], ["incidents", "counts"]) or path[:1] in (["transport"], ["events"]):
            continue
        if "counters" in path or "waiting" in path:
            continue
        for key in list(at(report, path)):
            open_map = path in (["blocks"], ["packets", "dropped"], ["answers", "uncompared"], ["stages_ns"])
            if open_map and key != "total":
                continue
            spoilt = copy.deepcopy(report)
            del at(spoilt, path)[key]
            bench.expect(not schema.is_valid(spoilt), f"the schema does without {'/'.join([*path, key])}")
            spoilt = copy.deepcopy(report)
            at(spoilt, path)[key] = None
            bench.expect(not schema.is_valid(spoilt), f"the schema takes null as {'/'.join([*path, key])}")
    for path in ([], ["packets"], ["answers"], ["latency_ns"], ["rates"]):
        spoilt = copy.deepcopy(report)
        at(spoilt, path)["colour"] = 1
        bench.expect(not schema.is_valid(spoilt), f"the schema takes a colour in {'/'.join(path) or 'the report'}")


def at(node, path):
    for key in path:
        node = node[key]
    return node


CHECKS = {"sample": sample, "soft_roce": soft_roce, "nic": nic, "programs": programs, "self_check": self_check}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
