#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces of MPI as workloads: what the NIC finds in its tag lists, against a count straight from the trace."""
import collections
import pathlib
import sys

import e2e
import mpi_job_texts

ANY = mpi_job_texts.ANY
DELAY_NS = 1000


def page(bench, trace, rank, *more):
    text = (f'packets = 100000000\n[mpi]\ntrace = "{trace}"\nrank = {rank}\n' + "".join(f"{line}\n" for line in more) +
            '[network]\ndelay = "1us"\n[receiver]\nreceive = "tm_srq"\n')
    (bench.folder / "page.toml").write_text(text, encoding="utf-8")
    return "page.toml"


def count(rank, posts, arrivals):
    """The searches of both queues of an MPI library. Receives are (time, source, tag, communicator), with the source's
    rank in the communicator. Messages are (time, rank of the job, source, tag, communicator)."""
    events = [((time, 0, rank), post) for time, *post in posts]
    events += [((time, 1, sender), message) for time, sender, *message in arrivals]
    events.sort(key=lambda event: event[0])  # stable: the order of the calls of a rank
    posted, unexpected = [], []
    found = collections.Counter()
    depths = {"posted": collections.Counter(), "unexpected": collections.Counter()}

    def fits(receive, message):
        return (receive[2] == message[2] and receive[0] in (ANY, message[0]) and receive[1] in (ANY, message[1]))

    for (_, arrives, _), what in events:
        searched = posted if arrives else unexpected
        pairs = ((other, what) if arrives else (what, other) for other in searched)
        at = next((n for n, (receive, message) in enumerate(pairs) if fits(receive, message)), None)
        depths["posted" if arrives else "unexpected"][len(searched) if at is None else at] += 1
        if at is not None:
            del searched[at]
        elif arrives:
            unexpected.append(what)
        else:
            posted.append(what)
            found["operations"] += 1
        if arrives:
            found["searches"] += 1
            found["matches" if at is not None else "unexpected"] += 1
    return depths, found


def compare(bench, what, report, depths, found):
    """The figures of a run against a count; returns the number of searches."""
    if report is None:
        return 0
    counters = report["blocks"]["tag_match_cam"]["counters"]
    for name in ("searches", "matches", "unexpected", "operations"):
        bench.expect_equal(counters[name], found[name], f"{what}: tag_match_cam.{name}")
    for queue, counted in depths.items():
        shown = {int(depth): number for depth, number in report["tag_depths"][queue]["depths"].items()}
        bench.expect_equal(shown, dict(sorted(counted.items())), f"{what}: depths of the {queue} queue")
        bench.expect_equal(report["tag_depths"][queue]["searches"], sum(counted.values()), f"{what}: searches, {queue}")
    bench.expect_equal(report["error_cqes"], 0, f"{what}: completions in error")
    return sum(depths["posted"].values()) + sum(depths["unexpected"].values())


def time_of(text):
    """Nanoseconds of a number of microseconds with six digits behind its point."""
    whole, _, fraction = text.partition(".")
    return (int(whole) * 10**6 + int(fraction[:6].ljust(6, "0")) * (-1 if text.startswith("-") else 1)) // 1000


def traced_calls(file):
    """(receives, ns on rank 0's clock, peer, tag, communicator), of a file of liballprof or collprof."""
    calls, ends, differences = [], [], []
    for line in file.read_text(encoding="utf-8").splitlines():
        fields = line.split(":")
        if "clockdiff" in line:
            differences.append(time_of(fields[1].strip()))
        elif fields[0] == "MPI_Init":
            ends.append(time_of(fields[-1]))
        elif fields[0] == "MPI_Finalize":
            ends.append(time_of(fields[1]))
        elif fields[0] in ("MPI_Send", "MPI_Isend", "MPI_Recv", "MPI_Irecv"):
            calls.append((fields[0].endswith("ecv"), time_of(fields[1]), int(fields[5]), int(fields[6]),
                          int(fields[7].split(",")[0])))
    change, span = differences[1] - differences[0], ends[1] - ends[0]

    def corrected(time):
        part = abs(change) * (time - ends[0]) // span
        return time + differences[0] + (part if change >= 0 else -part)

    return [(receives, corrected(time), *rest) for receives, time, *rest in calls]


def captured(bench):
    """Each rank of the trace beside the project: depths of searches and counters of the CAM."""
    folder = e2e.CAPTURES / "mpi"
    files = sorted(folder.glob("pmpi-trace-rank-*.txt"))
    if not files:
        raise e2e.Skip("no traces in ../shared/captures/mpi")
    ranks = [traced_calls(file) for file in files]
    for rank, calls in enumerate(ranks):
        posts = [(time, peer, tag, comm) for receives, time, peer, tag, comm in calls if receives]
        arrivals = [(time + DELAY_NS, sender, sender, tag, comm) for sender, others in enumerate(ranks)
                    for receives, time, peer, tag, comm in others if not receives and peer == rank and sender != rank]
        report = bench.replay(page(bench, folder, rank), out=f"run{rank}")
        compared = compare(bench, f"rank {rank}", report, *count(rank, posts, arrivals))
        bench.expect(compared > 2000, f"rank {rank}: only {compared} searches were compared")
        print(f"rank {rank}: {compared} searches compared")


def counted(calls, rank, speedup=1):
    """The count for a rank of a generated job."""
    ranks = len(calls)
    first = min(call.time for one in calls for call in one)

    def at(call):
        return (call.time - first) // speedup

    posts = [(at(call), mpi_job_texts.number_in(call.peer, call.comm, ranks), call.tag, call.comm)
             for call in calls[rank] if call.receives]
    arrivals = [(at(call) + DELAY_NS, sender, mpi_job_texts.number_in(sender, call.comm, ranks), call.tag, call.comm)
                for sender, others in enumerate(calls) for call in others if not call.receives and call.peer == rank]
    return count(rank, posts, arrivals)


def traces(bench, seed, wildcards):
    """{format: path} of one job."""
    calls = mpi_job_texts.random_job(seed, wildcards=wildcards)
    paths = {}
    for name in ("allprof", "dumpi"):
        folder = bench.folder / f"{name}-{seed}"
        folder.mkdir()
        getattr(mpi_job_texts, name)(folder, calls)
        paths[name] = folder.name
    if not wildcards:
        mpi_job_texts.otf2(bench.folder / f"otf2-{seed}.txt", calls)
        paths["otf2"] = f"otf2-{seed}.txt"
    return calls, paths


def formats(bench):
    """Generated jobs with wildcards and two communicators as liballprof, dumpi and OTF2: each rank as it is counted."""
    for seed, wildcards in ((1, True), (2, False)):
        calls, paths = traces(bench, seed, wildcards)
        deepest = 0
        for name, path in paths.items():
            for rank in range(len(calls)):
                depths, found = counted(calls, rank)
                report = bench.replay(page(bench, path, rank), out="run")
                what = f"{name}, seed {seed}, rank {rank}"
                bench.expect(compare(bench, what, report, depths, found) > 100, f"{what}: too few searches")
                deepest = max(deepest, *depths["posted"], *depths["unexpected"])
        bench.expect(deepest >= 5, f"seed {seed}: the deepest search passes {deepest} entries")
        print(f"seed {seed}: {', '.join(paths)}: depths up to {deepest}")


def keys(bench):
    """What speedup, order_gap and mtu change; two runs are equal, and so are the figures of its files."""
    calls, paths = traces(bench, 3, True)
    base = bench.replay(page(bench, paths["dumpi"], 0), out="base")
    fast = bench.replay(page(bench, paths["dumpi"], 0, "speedup = 1000"), out="fast")
    compare(bench, "1000 times as fast", fast, *counted(calls, 0, 1000))
    bench.expect(fast["time_ps"] < base["time_ps"], "speedup shortens nothing")
    bench.expect(any("come later than it says" in note for note in fast["assumptions"]), f"{fast['assumptions']}")
    close = bench.replay(page(bench, paths["dumpi"], 0, "order_gap = 0", "speedup = 1000"), out="close")
    bench.expect(close["time_ps"] < fast["time_ps"], "order_gap = 0 keeps the gaps")
    bench.expect(close["state_hash"] != fast["state_hash"], "order_gap changes nothing")
    small = bench.replay(page(bench, paths["dumpi"], 0, "mtu = 256"), out="small")
    bench.expect(small["packets"]["seen"] > base["packets"]["seen"], "mtu = 256 makes no more packets")
    again = bench.replay(page(bench, paths["dumpi"], 0), out="again")
    texts = [(bench.folder / out / "report.json").read_bytes() for out in ("base", "again")]
    bench.expect(texts[0] == texts[1] and again is not None, "two runs differ")
    done = bench.rxnic("workload", "page.toml", "--out", "files")
    bench.expect_equal(done.returncode, 0, f"rxnic workload --out: {done.stderr.strip()}")
    files = bench.replay("files", out="from_files")
    for key in ("cycles", "time_ps", "state_hash", "packets", "messages", "cqes", "blocks", "latency_ns", "tag_depths",
                "tables"):
        bench.expect(files[key] == base[key], f"{key} differs between the run and that of its files")


def refusals(bench):
    """What is refused of a page with [mpi], and of a trace: file, line, key, expectation."""
    _, paths = traces(bench, 4, False)
    good = (bench.folder / page(bench, paths["allprof"], 0)).read_text(encoding="utf-8")
    head = 'rxnic: page.toml:'
    for old, new, begin, *parts in (
            ("rank = 0", "rank = 9", f"{head}4: mpi.rank: found rank 9 of 4 ranks", "0 to 3"),
            ("rank = 0", "rank = -1", f"{head}4: mpi.rank: found -1", "0 to 65535"),
            ("rank = 0", "mtu = 300", f"{head}4: mpi.mtu: found 300", "a power of two"),
            (f'trace = "{paths["allprof"]}"', 'trace = "absent"', f"{head}3: mpi.trace: ", "absent"),
            (f'trace = "{paths["allprof"]}"\n', "", f"{head}2: mpi.trace: found no trace"),
            ("[network]", "[[senders]]\n[network]", f"{head}5: senders: found senders beside [mpi]", "one of the two"),
            ('receive = "tm_srq"', 'receive = "srq"', f"{head}", "without tag matching"),
            ('receive = "tm_srq"', 'receive = "tm_srq"\n[receiver.tags]\nahead = 5', f"{head}9: receiver.tags",
             "tags beside [mpi]")):
        (bench.folder / "page.toml").write_text(good.replace(old, new), encoding="utf-8")
        done = bench.rxnic("replay", "page.toml")
        bench.expect_equal(done.returncode, 2, f"{new}: exit code ({done.stderr.strip()})")
        bench.expect(done.stderr.startswith(begin), f"{new}: begins not with {begin!r}: {done.stderr.strip()}")
        for part in parts:
            bench.expect(part in done.stderr, f"{new}: does not name {part!r}: {done.stderr.strip()}")
    (bench.folder / "page.toml").write_text(good, encoding="utf-8")
    file = pathlib.Path(bench.folder / paths["allprof"] / "rank-2.txt")
    file.write_text(file.read_text(encoding="utf-8").replace("MPI_Send:", "MPI_Send:soon", 1), encoding="utf-8")
    done = bench.rxnic("replay", "page.toml")
    bench.expect_equal(done.returncode, 2, "a bad line: exit code")
    for part in ("rank-2.txt:", "found 'MPI_Send:soon", "a time in microseconds"):
        bench.expect(part in done.stderr, f"a bad line: does not name {part!r}: {done.stderr.strip()}")


CHECKS = {"captured": captured, "formats": formats, "keys": keys, "refusals": refusals}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
