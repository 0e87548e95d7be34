# SPDX-License-Identifier: Apache-2.0
"""Instructions that the model executes for a packet, by block, counted by callgrind.

A count is the difference of two runs of one load that differ in their number of packets, divided by that number. So
what a run does once is in no count, and no other program on the machine makes a count larger. What a run does once is
the case short_replay: a replay of few packets from its start to its end, in thousands of instructions. A function
counts for the block whose class it is of (GROUPS). Code that the compiler has inlined counts for the function that it
is in.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
BUDGETS = HERE / "instructions.toml"
TOLERANCE = 0.02  # above a budget
UNSTEADY = ("library",)  # how many memcpy() needs depends on where the linker has put things; the total has them
FEW_INSTRUCTIONS = 10  # a packet; so many more are none
LOADS = ("send_64B_1qp", "send_64B_256qp", "send_64B_4096qp", "send_64B_1qp_of_4096", "ud_64B", "mixed_64B_4KiB",
         "send_64B_1qp_5_percent", "tag_matching_srq_64B", "srq_linked_list_64B", "srq_cyclic_64B")
WHOLE = ("whole_replay", "what_if")  # the program, with what it reads and reports
ONCE = "short_replay"  # not a packet's: thousands of instructions of the whole run
CASES = LOADS + WHOLE + (ONCE,)
# A record is made by programs that run live: its packets are not the same each time.
TESTED = LOADS + WHOLE[:1] + (ONCE,)
# More packets than QPs: every context is read once before, in the shorter run.
PACKETS = {"send_64B_4096qp": (8192, 10240), "what_if": (500, 1500)}
FEW = (1000, 2000)
ONCE_PACKETS = 50
# For the whole program, which has no threads there: how often one waits for another is not the same each time.
ONE_CORE = ("taskset", "-c", str(min(os.sched_getaffinity(0))))
BLOCKS = ("rx_buffer", "rx_parser", "qp_context_cache", "transport_checker", "tag_match_cam", "srq_wqe_fetcher",
          "grh_scatter", "address_translator", "dma_engine", "cqe_generator", "ack_generator", "requester",
          "command_processor")
# What else there is: classes of C++ and, in lower case, functions of no class. "headers" are read by rx_parser, and by
# whoever reads a capture; "assertions" are in presets without NDEBUG alone.
GROUPS = {
    "engine": ("Engine", "Block", "Link", "LinkBase", "In", "Out", "DelayLine", "StepOrder"),
    "headers": ("parse", "parse_transport", "parse_udp", "ipv4_checksum_matches", "wrong_checksum", "icrc",
                "icrc_matches", "masked_prefix", "describe", "seal"),
    "qp_context_cache": ("ContextCache", "SetCache", "ContextWaits", "QpPartMemory"),
    "transport_checker": ("Responder", "ResponderResources", "AnswerTable", "examine", "check_headers", "admit"),
    "tag_match_cam": ("TagStore", "TagList", "TagTable", "UnexpectedList"),
    "srq_wqe_fetcher": ("WorkQueueTable", "WqePrefetch", "WqeStore", "WqeSlots", "parse_wqe"),
    "grh_scatter": ("PieceList", "plan_scatter", "fill"),
    "address_translator": ("check_region",),
    "cqe_generator": ("CompletionQueue", "CqTable", "WrittenCompletions", "LeavingCqes", "make_cqe", "write_slot"),
    "ack_generator": ("ReturnPath",),
    "requester": ("RequestTable", "SendQueue"),
    "refusals": ("Refusals", "Ledger"),
    "host": ("HostModel", "ReceiveRing", "TagProgram", "SlotOrder", "LocalMemory", "HostMemory", "FlatIndex",
             "write_wqe"),
    "wire": ("WireSource", "WireSink", "PacketPool", "Packet", "PreparedStream"),
    "latencies": ("Latencies", "NicTables", "PayloadHistory", "Histogram", "CoarseHistogram", "TableCounts",
                  "stays_of"),
    "capture": ("CaptureReader", "CaptureFile", "PcapRecords", "CaptureSurvey", "SurveyState", "SnifferSurvey",
                "SnifferFilter", "CopyFinder", "Flow", "StrictReceiver", "ReplayStream", "CaptureWriter", "digest_of",
                "FramesAhead", "AnswerStage", "Ahead", "Behind", "Exchange", "Answers", "ResponseFile"),
    "compare": ("AnswerCompare", "MsnCompare", "RequestedPsns", "UnreadableRequests"),
    "assertions": ("Descriptor", "check_widths", "operations_of"),
}
GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}
GROUP_OF |= {"".join(word.capitalize() for word in block.split("_")): block for block in BLOCKS}


class InstructionError(Exception):
    """No count could be made, or one is above its budget."""


def group_of(function):
    """'rxnic::Cycle rxnic::Engine::tick<1ul>()' -> 'engine'; 'library': code of others, 'other': what no group has."""
    name = function.replace("(anonymous namespace)::", "").partition("(")[0]
    mangled = re.match(r"_ZNK?5rxnic(\d+)", name)
    if mangled:
        return GROUP_OF.get(name[mangled.end():mangled.end() + int(mangled[1])], "other")
    names = re.findall(r"rxnic::(\w+)(?=::|<|$)", name)
    qualified = re.search(r"rxnic::([A-Z]\w*)(?:<.*?>)?::", name)
    if not names and "rxnic::" not in name:
        return "library"
    return GROUP_OF.get(qualified[1] if qualified else names[-1] if names else "", "other")


def functions_of(profile):
    """Instructions by function of a file of callgrind, without those of the functions that it calls."""
    counts, names, function, called = collections.Counter(), {}, "", False
    for line in profile.splitlines():
        if line.startswith("fn="):
            number, _, name = line[3:].partition(" ")
            function = names.setdefault(number, name)
        elif line.startswith("cfn="):
            number, _, name = line[4:].partition(" ")
            names.setdefault(number, name)
        elif line.startswith("calls="):
            called = True
        elif line[:1] in "0123456789+-*" and line:
            if not called:
                counts[function] += int(line.split()[1])
            called = False
    return counts


def profile(command, collect=None):
    """The functions of one run under callgrind; `collect`: only while a function of that name runs."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "out"
        options = [f"--callgrind-out-file={file}", *([f"--toggle-collect={collect}"] if collect else [])]
        done = subprocess.run([*([] if collect else ONE_CORE), "valgrind", "--tool=callgrind", *options, *command],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise InstructionError(f"{pathlib.Path(command[0]).name}: exit status {done.returncode}:\n{done.stderr}")
        counts = functions_of(file.read_text())
        if not counts:
            raise InstructionError(f"{pathlib.Path(command[0]).name}: found no instructions of {collect or 'it'}; "
                                   "expected some: is the program stripped?")
        return counts


class Counter:
    """Counts the cases with the programs of a build folder."""

    def __init__(self, build, work):
        self.build, self.work = pathlib.Path(build), pathlib.Path(work)
        self.program = self.build / "bridge/rxnic/rxnic"

    def run(self, case, packets):
        if case in LOADS:
            bench = self.build / "testbench/bench/rxnic_bench"
            return profile([bench, f"--load={case}", f"--packets={packets}"], "rxnic::run_counted*")
        out = ["--quiet", "--out", self.work / "out"]
        if case == "what_if":
            return profile([self.program, "replay", *out, "--set", "dma_engine.read_latency_ps=900000",
                            self.record(packets)])
        capture = self.work / f"{packets}.pcap"
        subprocess.run([self.build / "testbench/e2e/make_traffic", capture, str(packets), "7"], check=True)
        return profile([self.program, "replay", *out, capture])

    def record(self, messages):
        folder = self.work / f"record_{messages}"
        program = ["ibv_srq_pingpong", "-n", str(messages // 2)]
        subprocess.run([self.program, "run", "--quiet", "--record", "--nics", "2", "--out", folder, "--",
                        HERE.parent.parent / "scripts/pingpong", *program], check=True, capture_output=True)
        return folder

    def count(self, case):
        """Instructions a packet, by function; of ONCE thousands of them."""
        if case == ONCE:
            return {name: count / 1000 for name, count in self.run(case, ONCE_PACKETS).items()}
        few, many = PACKETS.get(case, FEW)
        counts = self.run(case, many)
        counts.subtract(self.run(case, few))
        return {name: count / (many - few) for name, count in counts.items() if count != 0}


def by_group(functions):
    """Instructions a packet by group, the largest first, and `total` before all."""
    counts = collections.Counter()
    for name, count in functions.items():
        counts[group_of(name)] += count
    return {"total": round(sum(counts.values())), **{name: round(count) for name, count in counts.most_common()}}


def read_budgets(preset):
    """By case and group, for programs that this preset has built."""
    with BUDGETS.open("rb") as file:
        return tomllib.load(file).get(preset, {})


def excess(case, counted, budgets):
    """What is above its budget, in words."""
    found = [] if counted.get("total") else [f"{case}: found no instructions; expected some"]
    for name, budget in ((name, budget) for name, budget in budgets.items() if name not in UNSTEADY):
        count = counted.get(name, 0)
        if count > max(budget * (1 + TOLERANCE), budget + FEW_INSTRUCTIONS):
            unit = "thousand instructions" if case == ONCE else "instructions a packet"
            found.append(f"{case}: {name}: {count} {unit}; expected at most {budget} and "
                         f"{TOLERANCE:.0%}")
    return found


def write_budgets(preset, counted):
    """What was counted becomes the budget."""
    with BUDGETS.open("rb") as file:
        tables = tomllib.load(file)
    tables.setdefault(preset, {}).update(counted)
    head = BUDGETS.read_text().split("\n[")[0].rstrip() + "\n"
    lines = [head]
    for of_preset in sorted(tables):
        for case in (name for name in CASES if name in tables[of_preset]):
            lines += [f"\n[{of_preset}.{case}]\n"] + [f"{k} = {v}\n" for k, v in tables[of_preset][case].items()]
    BUDGETS.write_text("".join(lines))


def table(counted, width=5):
    """Groups as rows, cases as columns, so many beside each other."""
    cases = list(counted)
    parts = []
    for some in (cases[n:n + width] for n in range(0, len(cases), width)):
        groups = list(dict.fromkeys(name for case in some for name in counted[case]))
        titles = [f"{case} (thousands)" if case == ONCE else case for case in some]
        rows = [["instructions a packet", *titles], *([g, *(str(counted[c].get(g, "")) for c in some)] for g in groups)]
        widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
        parts.append("\n".join("  ".join([row[0].ljust(widths[0]),
                                         *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:]))]) for row in rows))
    return "\n\n".join(parts)


def count_cases(preset, cases, build, renew=False, say=print):
    """Prints the table of the cases; returns what is above its budget."""
    with tempfile.TemporaryDirectory() as work:
        counter, counted = Counter(build, work), {}
        for case in cases:
            print(f"rxnic: counting {case}", file=sys.stderr, flush=True)
            counted[case] = by_group(counter.count(case))
    say(table(counted))
    if renew:
        write_budgets(preset, counted)
        return []
    budgets = read_budgets(preset)
    compared = [case for case in counted if case in budgets]
    found = [text for case in compared for text in excess(case, counted[case], budgets[case])]
    say(f"{len(compared)} of {len(counted)} cases have a budget of the preset {preset}: "
        f"{'; '.join(found) if found else 'none is passed'}")
    return found
