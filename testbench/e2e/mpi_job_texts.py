# SPDX-License-Identifier: Apache-2.0
"""A random MPI job, and its trace as liballprof, dumpi2ascii and otf2-print write it."""
import random

ANY = -1
WORLD, OTHER = 0, 7  # communicators; in the other one the ranks are counted backwards


class Call:
    """A send or a receive of a rank; `peer` and `rank` are those of the job. ns, from a multiple of 1000."""

    def __init__(self, receives, rank, peer, tag, comm, time, count):
        self.receives, self.rank, self.peer, self.tag, self.comm = receives, rank, peer, tag, comm
        self.time, self.count = time, count  # of doubles


def number_in(rank, comm, ranks):
    """The rank in the communicator of a rank of the job."""
    return rank if comm == WORLD or rank == ANY else ranks - 1 - rank


def random_job(seed, ranks=4, messages=300, wildcards=True):
    """[[Call]] by rank, in the order of their times. Receives come before their messages as often as behind them."""
    numbers = random.Random(f"mpi {seed}")
    calls = [[] for _ in range(ranks)]
    for _ in range(messages):
        sender, receiver = numbers.sample(range(ranks), 2)
        tag, comm = numbers.randrange(6), numbers.choice([WORLD, WORLD, OTHER])
        time, count = numbers.randrange(1, 4000), numbers.randrange(0, 400)
        calls[sender].append(Call(False, sender, receiver, tag, comm, time * 1000, count))
        at = max(0, time + numbers.randrange(-700, 300))
        source = ANY if wildcards and numbers.random() < 0.2 else sender
        label = ANY if wildcards and numbers.random() < 0.2 else tag
        calls[receiver].append(Call(True, receiver, source, label, comm, at * 1000, count))
    for one in calls:
        one.sort(key=lambda call: call.time)
    return calls


def allprof(folder, calls):
    """Microseconds; the clocks of the ranks differ, and drift apart."""
    ranks = len(calls)
    for rank, one in enumerate(calls):
        begin, end = 1000 + 50 * rank, 9000 + 50 * rank  # of its own clock
        lines = ["# allprof", f"# Init clockdiff: {-50.0 * rank:.6f}", f"MPI_Init:-:1:2:{begin}.000000"]
        for call in one:
            what = "MPI_Irecv" if call.receives else "MPI_Send"
            peer = number_in(call.peer, call.comm, ranks)
            own = number_in(call.rank, call.comm, ranks)
            time = begin + call.time // 1000
            lines.append(f"{what}:{time}.000000:4096:{call.count}:11,8,8:{peer}:{call.tag}:{call.comm},{own},{ranks}"
                         f":77:{time + 1}.000000")
        lines += [f"# Finalize clockdiff: {-50.0 * rank:.6f}", f"MPI_Finalize:{end}.000000:-"]
        (folder / f"rank-{rank}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def dumpi(folder, calls):
    ranks = len(calls)

    def call_text(name, time, arguments):
        seconds = f"{time // 10**9}.{time % 10**9:09d}"
        return (f"{name} entering at walltime {seconds}, cputime 0.0 seconds in thread 0.\n{arguments}"
                f"{name} returning at walltime {seconds}, cputime 0.0 seconds in thread 0.\n")

    def any_text(value, name):
        return f"{value} ({name})" if value == ANY else f"{value}"

    names = {WORLD: "MPI_COMM_WORLD", OTHER: "user-defined-comm"}
    for rank, one in enumerate(calls):
        text = "version=1.1.0\n"
        for comm, name in names.items():
            text += call_text("MPI_Comm_rank", 0, f"MPI_Comm comm={comm} ({name})\n"
                              f"int rank={number_in(rank, comm, ranks)}\n")
        for call in one:
            peer = number_in(call.peer, call.comm, ranks)
            side = "source" if call.receives else "dest"
            arguments = (f"int count={call.count}\nMPI_Datatype datatype=14 (MPI_DOUBLE)\n"
                         f"int {side}={any_text(peer, 'MPI_ANY_SOURCE')}\nint tag={any_text(call.tag, 'MPI_ANY_TAG')}\n"
                         f"MPI_Comm comm={call.comm} ({names[call.comm]})\n")
            text += call_text("MPI_Irecv" if call.receives else "MPI_Isend", call.time, arguments)
        (folder / f"dumpi-{rank:04d}.txt").write_text(text, encoding="utf-8")


def otf2(file, calls):
    """Locations are 10 times the ranks. Every receive ends at the end of the job."""
    ranks = len(calls)
    lines = ["=== OTF2-PRINT ===", "CLOCK_PROPERTIES  Ticks per Seconds: 1000000000, Global Offset: 0",
             "=== Events ==="]
    ends = []

    def attributes(call):
        side = "Sender" if call.receives else "Receiver"
        comm = "MPI_COMM_WORLD" if call.comm == WORLD else "other"
        return (f'{side}: {number_in(call.peer, call.comm, ranks)} ("Master thread" <{10 * call.peer}>), '
                f'Communicator: "{comm}" <{call.comm}>, Tag: {call.tag}, Length: {8 * call.count}')

    for rank, one in enumerate(calls):
        for number, call in enumerate(one):
            place = f"{10 * rank}  "
            if call.receives:
                lines.append(f"MPI_IRECV_REQUEST  {place}{call.time}  Request: {number}")
                ends.append(f"MPI_IRECV  {place}99999999  {attributes(call)}, Request: {number}")
            else:
                lines.append(f"MPI_ISEND  {place}{call.time}  {attributes(call)}, Request: {number}")
    file.write_text("\n".join(lines + ends) + "\n", encoding="utf-8")
