#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--waves: what is in waves.vcd is what the report, the capture and the other options say."""
import re
import shutil
import struct
import sys

import e2e
from vcd import UNKNOWN, Vcd

NIC = "nic0."
# Two ends of a link, on the path of a packet.
LINKS = [("rx_buffer.out", "rx_parser.in"), ("rx_parser.out", "qp_context_cache.in"),
         ("qp_context_cache.out", "transport_checker.in"), ("srq_wqe_fetcher.out", "grh_scatter.in"),
         ("grh_scatter.out", "address_translator.in"), ("address_translator.out", "dma_engine.payload"),
         ("dma_engine.payload_done", "cqe_generator.in"), ("cqe_generator.out", "ack_generator.in")]


def waves_of(bench, *arguments, out="run", trace=e2e.SAMPLE):
    """A replay with waves: its report and its waves."""
    report = bench.replay(trace, *(arguments or ["--waves"]), out=out)
    return report, Vcd(bench.folder / out / "waves.vcd")


def captured():
    """The frames of the sample: the bytes of each, and for RoCEv2 over IPv4 the destination QP, PSN and opcode."""
    data, at, frames = e2e.SAMPLE.read_bytes(), 24, []
    while at < len(data):
        kept = struct.unpack_from("<I", data, at + 8)[0]
        frame = data[at + 16:at + 16 + kept]
        bth = frame[42:54] if frame[12:14] == b"\x08\0" and frame[36:38] == b"\x12\xb7" else None
        frames.append((kept, bth and (int.from_bytes(bth[5:8], "big"), int.from_bytes(bth[9:12], "big"), bth[0])))
        at += 16 + kept
    return frames


def transfers(bench):
    """What passes each port is what the blocks have counted; nothing is lost or made between two ends of a link."""
    report, vcd = waves_of(bench)
    blocks = {name: body["counters"] for name, body in report["blocks"].items()}
    for port, expected in {
            "rx_buffer.in": report["packets"]["seen"],
            "rx_buffer.out": blocks["rx_buffer"]["packets"] - blocks["rx_buffer"]["dropped"],
            "rx_parser.in": blocks["rx_parser"]["packets"],
            "transport_checker.in": blocks["transport_checker"]["packets"],
            "tag_match_cam.in": blocks["tag_match_cam"]["packets"],
            "grh_scatter.in": blocks["grh_scatter"]["packets"],
            "dma_engine.payload_done": blocks["dma_engine"]["packets_written"],
            "cqe_generator.in": blocks["cqe_generator"]["packets"],
            "ack_generator.in": blocks["ack_generator"]["packets"],
            "ack_generator.tx": report["answers"]["sent"],
    }.items():
        bench.expect_equal(vcd.count(NIC + port), expected, f"transfers at {port}")
    for source, sink in LINKS:
        sent, taken = vcd.transfers(NIC + source), vcd.transfers(NIC + sink)
        bench.expect_equal(len(sent), len(taken), f"cycles with a transfer at {source} and {sink}")
        bench.expect(len(sent) > 10, f"only {len(sent)} transfers at {source}")
        pairs = [(name, vcd.field(NIC + sink, name[len(f"{NIC}{source}_o."):])) for name in vcd.kinds
                 if name.startswith(f"{NIC}{source}_o.")]
        pairs += [(name, NIC + sink + name[len(NIC + source):]) for name in vcd.kinds
                  if name.startswith(f"{NIC}{source}_packet.")]
        bench.expect(len(pairs) > 3, f"{source}: only {len(pairs)} fields")
        for n, (left, came) in enumerate(zip(sent, taken)):
            wrong = [name for name, other in pairs if vcd.at(name, left) != vcd.at(other, came)]
            bench.expect(left < came and not wrong, f"{source}, transfer {n} at {left} and {came} ps: {wrong} differ")
    for port in vcd.ports():
        valid, ready = vcd.valid(port), vcd.ready(port)
        if f"{port}_occupancy" not in vcd.kinds:
            # An output puts nothing into a full link.
            wrong = [time for time in vcd.cycles_in(valid, 1) if vcd.at(ready, time) == 0]
        else:  # an input takes what it is offered
            wrong = [time for time in vcd.cycles_in(ready, 1) if vcd.at(valid, time) == 0]
        bench.expect(not wrong, f"{port}: valid without ready, or ready without valid, at {wrong[:3]}")


def fields(bench):
    """Packet numbers, QPNs, PSNs and opcodes are those of the capture; each activity has its cycles."""
    report, vcd = waves_of(bench)
    frames = captured()
    port = NIC + "rx_parser.in"
    checked = 0
    for time in vcd.transfers(port):
        number, size, qpn, psn, opcode = (vcd.at(f"{port}_{field}", time) for field in (
            "packet.number", "i.bytes", "packet.qpn", "packet.psn", "packet.opcode"))
        kept, bth = frames[number - 1]
        bench.expect_equal(size, kept, f"bytes of frame {number}")
        if bth is not None and qpn != UNKNOWN:
            bench.expect_equal((qpn, psn), bth[:2], f"QPN and PSN of frame {number}")
            bench.expect(re.fullmatch(r"(RC|UC|UD|XRC)_[A-Z_]+|CNP", opcode), f"opcode of frame {number}: {opcode}")
            checked += 1
    bench.expect(checked > 20, f"only {checked} packets were compared with the capture")
    port = NIC + "qp_context_cache.in"
    for time in vcd.transfers(port):
        number, *found = (vcd.at(f"{port}_{field}", time) for field in (
            "packet.number", "i.destination_qp", "i.psn", "i.opcode"))
        bench.expect_equal(tuple(found), frames[number - 1][1], f"the parser's fields of frame {number}")
    # The cycles of each activity, from the changes of its text to the end of the run.
    for block, body in report["blocks"].items():
        name = f"{NIC}{block}.activity"
        account, history = {}, vcd.history(name)
        for (begin, activity), (end, _) in zip(history, [*history[1:], (report["time_ps"], None)]):
            account[activity] = account.get(activity, 0) + end - begin
        period = report["time_ps"] // report["cycles"]
        for activity in ("busy", "starved", "blocked"):
            bench.expect_equal(account.pop(activity, 0), body[activity] * period, f"{block}: {activity}")
        waiting = {f"wait_{what}": n * period for what, n in body["waiting"].items() if n}
        bench.expect_equal({k: v for k, v in account.items() if v}, waiting, f"{block}: waiting")


def same_result(bench):
    """Waves, of the whole run or a part, change nothing else that is written; equal runs, equal waves."""
    plain = bench.replay(e2e.SAMPLE, "--per-cycle", out="plain")
    files = {}
    for n, arguments in enumerate((["--waves"], ["--waves"], ["--waves", "--step-order", "reverse"],
                                   ["--waves-from", "1us"], ["--waves-to", "300ns"], ["--waves-around", "7,20"])):
        out = f"waves{n}"
        bench.expect(bench.replay(e2e.SAMPLE, *arguments, out=out) == plain, f"the report differs with {arguments}")
        bench.expect_equal((bench.folder / out / "responses.pcap").read_bytes(),
                           (bench.folder / "plain/responses.pcap").read_bytes(), f"responses.pcap with {arguments}")
        files[n] = (bench.folder / out / "waves.vcd").read_bytes()
    bench.expect(files[0] == files[1], "the second file differs from the first")
    bench.expect(files[0] == files[2], "the file depends on the order of steps")
    fast = bench.replay(e2e.SAMPLE, out="fast")
    bench.expect_equal(fast["state_hash"], plain["state_hash"], "state hash of the fast mode")


def is_part(bench, part, whole, begin, end, what):
    """The part holds the changes of the whole from `begin` on and before `end`, and no more."""
    bench.expect_equal(part.times[0], begin, f"{what}: first time")
    bench.expect_equal(part.final, end, f"{what}: last time")
    values = dict(whole.first)
    for time, name, value in whole.changes:
        if time <= begin:
            values[name] = value
    wrong = [name for name in values if part.first[name] != values[name]]
    bench.expect(not wrong, f"{what}: other first values of {wrong[:5]}")
    inside = [change for change in whole.changes if begin < change[0] < end]
    bench.expect(part.changes == inside, f"{what}: {len(part.changes)} changes; expected {len(inside)}")


def window(bench):
    """A window holds exactly what the whole file holds in it; one without a cycle is said to be empty."""
    report, whole = waves_of(bench, out="whole")
    period, end = report["time_ps"] // report["cycles"], report["time_ps"]
    bench.expect_equal((whole.times[0], whole.final), (0, end), "the whole file")

    def cut(arguments, begin, last):
        _, part = waves_of(bench, *arguments, out="part")
        begin, last = (-(-time // period) * period for time in (begin, last))
        is_part(bench, part, whole, begin, last, " ".join(arguments))

    cut(["--waves-from", "1us"], 1_000_000, end)
    cut(["--waves-to", "1.5us"], 0, 1_500_000)
    cut(["--waves", "--waves-from", "700ns", "--waves-to", "0.0017ms"], 700_000, 1_700_000)
    # Around a packet: it is at a port from its arrival to its release.
    number = 9
    ports = [port for port in whole.ports() if f"{port}_packet.number" in whole.kinds]
    seen = sorted(time for port in ports for time in whole.cycles_in(f"{port}_packet.number", number)
                  if whole.at(whole.valid(port), time) == 1)
    for margin in (0, 50):
        _, part = waves_of(bench, "--waves-around", f"{number},{margin}", out="part")
        is_part(bench, part, whole, part.times[0], part.final, f"around packet {number}, {margin}")
        bench.expect_equal(part.times[0], max(0, seen[0] - margin * period), f"{margin} cycles before packet {number}")
        bench.expect(part.final >= min(end, seen[-1] + (margin + 1) * period), f"{margin} cycles after: {part.final}")
        bench.expect(part.final < end, "the window goes on to the end of the run")
    for arguments, *parts in [(["--waves-from", "500ms"], "holds nothing", "the run ended after", "500.00 ms"),
                              (["--waves-around", "100000"], "holds nothing", "packet 100000")]:
        done = bench.rxnic("replay", e2e.SAMPLE, "--quiet", "--out", "empty", *arguments)
        bench.expect_equal(done.returncode, 0, f"{arguments}: exit code")
        for part in ("empty/waves.vcd", *parts):
            bench.expect(part in done.stderr, f"{arguments}: does not say {part!r}: {done.stderr}")
        empty = Vcd(bench.folder / "empty/waves.vcd")
        bench.expect(not empty.times and "The window is empty." in empty.comments, f"{arguments}: not empty")


def refusals(bench):
    """Wrong windows exit 2 and are named; files that cannot be written exit 1."""
    for arguments, *parts in [
            (["--waves-from", "12"], "--waves-from", "'12'", "ps, ns, us, ms or s"),
            (["--waves-from", "-1us"], "--waves-from"),
            (["--waves-to", "1h"], "--waves-to", "'1h'", "ps, ns, us, ms or s"),
            (["--waves-to", "0ns"], "--waves-to", "0ns", "after"),
            (["--waves-from", "2us", "--waves-to", "2us"], "--waves-to", "2us", "after"),
            (["--waves-around", "0"], "--waves-around", "'0'", "from 1"),
            (["--waves-around", "3,many"], "--waves-around", "'3,many'"),
            (["--waves-around", "3,1000001"], "--waves-around", "1000000"),
            (["--waves-around", "3", "--waves-to", "1us"], "--waves-around", "one window"),
            (["--waves-to", "1us", "--step-all"], "--step-all", "--per-cycle"),
    ]:
        for command in (["replay", e2e.SAMPLE], ["run"]):
            if command == ["run"] and "--step-all" in arguments:
                continue
            program = ["--", "true"] if command == ["run"] else []
            done = bench.rxnic(*command, "--out", "refused", *arguments, *program)
            bench.expect_equal((done.returncode, done.stdout), (2, ""), f"{command[0]} {arguments}")
            for part in parts:
                bench.expect(part in done.stderr, f"{command[0]} {arguments}: does not name {part!r}: {done.stderr}")
    full = bench.folder / "full"
    full.mkdir()
    for command in (["replay", e2e.SAMPLE, "--quiet"], ["run", "--quiet"]):
        program = ["--", "true"] if command[0] == "run" else []
        for name in ("waves.vcd", "waves.gtkw"):
            (full / name).symlink_to("/dev/full")
            done = bench.rxnic(*command, "--out", "full", "--waves", *program)
            (full / name).unlink()
            bench.expect_equal(done.returncode, 1, f"{command[0]}: full disk, {name}: exit code")
            bench.expect(f"full/{name}: cannot be written: No space left on device" in done.stderr,
                         f"{command[0]}: full disk: {done.stderr}")
            for left in full.glob("waves.*"):
                left.unlink()
        (full / "waves.vcd").mkdir()
        done = bench.rxnic(*command, "--out", "full", "--waves", *program)
        bench.expect_equal(done.returncode, 1, f"{command[0]}: waves.vcd is a folder: exit code")
        bench.expect("full/waves.vcd: cannot be written" in done.stderr, f"{command[0]}: {done.stderr}")
        (full / "waves.vcd").rmdir()


def programs(bench):
    """run --waves and the replay of its record write the same waves, of all NICs."""
    done = bench.rxnic("run", "--nics", "3", "--record", "--waves", "--quiet", "--out", "live", "--", "true")
    bench.expect_equal((done.returncode, done.stderr), (0, ""), "run --waves")
    done = bench.rxnic("replay", "live", "--waves", "--out", "again")
    bench.expect_equal(done.returncode, 0, f"replay --waves of a recorded run: {done.stderr}")
    bench.expect("again/waves.vcd" in done.stdout, "the replay does not name its waves")
    live, again = ((bench.folder / folder / "waves.vcd").read_bytes() for folder in ("live", "again"))
    bench.expect(live == again, "the waves of the run and of its replay differ")
    bench.expect_equal((bench.folder / "again/report.json").read_bytes(),
                       (bench.folder / "live/report.json").read_bytes(), "the report of the replay")
    vcd = Vcd(bench.folder / "live/waves.vcd")
    for n in range(3):
        bench.expect(f"nic{n}.requester.tx_packet.psn" in vcd.kinds, f"nic{n} is not in the waves")
        bench.expect(f"nic{n}.clk" in vcd.kinds, f"nic{n} has no clock")
    bench.expect("fabric.activity" in vcd.kinds, "the fabric is not in the waves")


def save_file(bench):
    """waves.gtkw shows only signals of waves.vcd, in groups that are closed, numbers as they are described."""
    _, vcd = waves_of(bench)
    lines = (bench.folder / "run/waves.gtkw").read_text(encoding="ascii").splitlines()
    bench.expect('[dumpfile] "waves.vcd"' in lines, "it does not name waves.vcd")
    begin, end = {"@800200", "@c00200"}, {"@1000200", "@1401200"}
    flags, open_groups, shown = None, [], {}
    for line in lines:
        if line.startswith("@"):
            flags = line
        elif line.startswith("-") and flags in begin:
            open_groups.append(line)
        elif line.startswith("-"):
            bench.expect(flags in end and open_groups and open_groups.pop() == line, f"group {line} ends")
        elif not line.startswith("["):
            name = re.sub(r"\[\d+:0\]$", "", line)
            bits = vcd.kinds.get(name, ("", 0))[1]
            bench.expect(name in vcd.kinds and line == name + (f"[{bits - 1}:0]" if bits > 1 else ""),
                         f"{line} is not in waves.vcd")
            shown[name] = flags
    bench.expect(not open_groups, f"groups left open: {open_groups}")
    clocks = {name for name in vcd.kinds if name.endswith(".clk")}
    bench.expect_equal(set(shown), set(vcd.kinds) - clocks | {"nic0.clk"}, "the signals of both")
    for name, flags in {"nic0.clk": "@28", "nic0.rx_parser.in_valid_i": "@28", "nic0.rx_parser.activity": "@820",
                        "nic0.transport_checker.in_i.psn": "@22", "nic0.transport_checker.in_i.destination_qp": "@24",
                        "nic0.transport_checker.in_packet.opcode": "@820"}.items():
        bench.expect_equal(shown.get(name), flags, f"flags of {name}")


def gtkwave(bench):
    """GTKWave's own reader takes the file and gives every value back."""
    for tool in ("vcd2fst", "fst2vcd"):
        if shutil.which(tool) is None:
            raise e2e.Skip(f"no {tool} (package gtkwave)")
    _, vcd = waves_of(bench)
    for command in (["vcd2fst", "run/waves.vcd", "waves.fst"], ["fst2vcd", "-e", "-f", "waves.fst", "-o", "back.vcd"]):
        done = bench.start(*command)
        bench.expect_equal(done.returncode, 0, f"{command}: {done.stderr}")
    back = (bench.folder / "back.vcd").read_text(encoding="ascii")
    count = len(re.findall(r"^\$var ", re.sub(r"^\s+", "", back, flags=re.M), re.M))
    bench.expect_equal(count, len(vcd.kinds), "signals")
    texts = {value for _, name, value in vcd.changes if vcd.kinds[name][0] == "string"}
    bench.expect("busy" in texts, "no activity in the file")
    for text in texts - {UNKNOWN}:
        bench.expect(re.search(rf"^s{re.escape(text)} ", back, re.M), f"{text} is not in what comes back")


def size(bench):
    """A packet costs no more than it should; a link on which nothing happens costs nothing."""
    report, vcd = waves_of(bench)
    bytes_ = (bench.folder / "run/waves.vcd").stat().st_size
    body = bytes_ - (bench.folder / "run/waves.vcd").read_text(encoding="ascii").index("$enddefinitions")
    packet = body / report["packets"]["seen"]
    print(f"{bytes_} bytes, {packet:.0f} a packet")
    bench.expect(packet < 16_384, f"{packet:.0f} bytes a packet")
    changed = {name for _, name, _ in vcd.changes}
    for port in vcd.ports():
        if not list(vcd.cycles_in(vcd.valid(port), 1)):
            own = (f"{port}_valid", f"{port}_more", f"{port}_i.", f"{port}_o.", f"{port}_packet.", f"{port}_occupancy")
            idle = sorted(name for name in changed if name.startswith(own))
            bench.expect(not idle, f"{port} is idle, but {idle} change")


CHECKS = {"transfers": transfers, "fields": fields, "same_result": same_result, "window": window,
          "refusals": refusals, "programs": programs, "save_file": save_file, "gtkwave": gtkwave, "size": size}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
