#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What programs find under /dev/infiniband and /sys/class (bridge/device_files); UCX takes no device without it."""
import os
import re
import sys

import live
from live import e2e

VERBS = "/sys/class/infiniband/rxnic1"
# Each line: what a program of Debian prints, through the C library's functions in brackets.
LOOKS = {
    f"cat {VERBS}/node_guid": "0072:78ff:fe00:0002",  # open
    f"cat {VERBS}/ports/1/gids/2": "0000:0000:0000:0000:0000:ffff:c612:0002",
    f"cat {VERBS}/ports/1/gid_attrs/types/0": "IB/RoCE v1",
    f"cat {VERBS}/ports/1/gid_attrs/types/2": "RoCE v2",
    f"cat {VERBS}/ports/1/gid_attrs/ndevs/2": "rxnic1",
    f"cat {VERBS}/ports/1/rate": "100 Gb/sec",
    "cat /sys/class/net/rxnic1/address": "02:72:78:00:00:02",
    "cat /sys/class/infiniband_verbs/rxnic1/ibdev": "rxnic1",
    f"cat {VERBS}/ports/1/gid_attrs/types/3 || echo none": "none",  # an empty slot
    "ls /sys/class/infiniband": "rxnic0\nrxnic1",  # opendir
    "ls /sys/class/infiniband_verbs/": "abi_version\nrxnic0\nrxnic1",
    "ls /dev/infiniband": "rdma_cm\nrxnic0\nrxnic1",
    "cat /sys/class/misc/rdma_cm/abi_version": "4",
    "stat -L -c %F,%t,%T /dev/infiniband/rxnic0": "character special file,1,3",  # statx
    "test -c /dev/infiniband/rxnic0 && test -r /dev/infiniband/rxnic0 && echo yes": "yes",  # stat, eaccess
    f"find {VERBS}/ports/1/gid_attrs/types -type f | sort | tail -n 1": f"{VERBS}/ports/1/gid_attrs/types/2",  # openat
    "readlink /dev/infiniband/rxnic0": "/dev/null",
    "ls -l /dev/infiniband 2>&1 | grep -c 'rxnic[01] -> /dev/null$'": "2",  # lgetxattr
    "ls -l /dev/infiniband 2>&1 | wc -l": "4",
    "ls /sys/class/infiniband_no || echo none": "none",
    "ls -d /sys/class/net/lo": "/sys/class/net/lo",  # the host's
    "cd /sys/class && cat infiniband/rxnic0/node_guid || echo none": "none",  # R1: a relative path
}
PYTHON = """
import ctypes, os, pathlib, stat, struct
device = "/dev/infiniband/rxnic0"
assert os.access(device, os.R_OK | os.W_OK) and pathlib.Path(device).is_char_device()
assert os.lstat(device).st_size == len("/dev/null") and os.path.realpath(device) == "/dev/null"
assert {e.name for e in os.scandir("/sys/class/infiniband")} == {"rxnic0", "rxnic1"}
with open("/sys/class/infiniband/rxnic0/node_type") as file:
    assert file.read() == "1: CA\\n"
# As a program calls them that was built with a C library older than 2.33.
libc, status = ctypes.CDLL(None), ctypes.create_string_buffer(256)
def mode(name, *arguments):
    assert getattr(libc, name)(1, *arguments) == 0, name
    return struct.unpack_from("I", status, 24)[0]
path, cm = device.encode(), os.open("/dev/infiniband/rdma_cm", os.O_RDWR)
for bits in ("", "64"):
    assert stat.S_ISCHR(mode("__xstat" + bits, path, status)) and stat.S_ISLNK(mode("__lxstat" + bits, path, status))
    assert stat.S_ISCHR(mode("__fxstatat" + bits, -100, path, status, 0))
    assert stat.S_ISCHR(mode("__fxstat" + bits, cm, status)), "rdma_cm is no device"
print("good")
"""


def run(bench, *command, arguments=()):
    return bench.rxnic("run", "--quiet", "--nics", "2", *arguments, "--out", bench.folder / "out", "--", *command)


def looks(bench):
    """Programs of Debian see the files of both NICs, and nothing else of the host's is changed."""
    script = "\n".join(f"{{ {command}; }} 2>/dev/null; echo =" for command in LOOKS)
    found = run(bench, "sh", "-c", script).stdout.split("\n=\n")
    bench.expect_equal(len(found), len(LOOKS) + 1, "answers")
    for (command, expected), answer in zip(LOOKS.items(), found):
        bench.expect_equal(answer, expected, command)
    done = run(bench, "/usr/bin/python3", "-c", PYTHON)
    bench.expect_equal(done.stdout, "good\n", done.stderr)
    # In a network of its own no interface of the host's is to be seen either.
    own = run(bench, "sh", "-c", "cd /; ls /sys/class/net /sys/class/net/; cat /sys/class/net/lo/mtu "
              "/sys/class/net/rxnic1/mtu; ls -d /sys/class/net/eth0 /sys/class/network", arguments=("--network", "own"))
    listed = "lo\nrxnic0\nrxnic1\n"
    bench.expect_equal(own.stdout, f"/sys/class/net:\n{listed}\n/sys/class/net/:\n{listed}65536\n4200\n", own.stderr)


# What each counter of a port shows: (block, counter), summed; the report has the blocks of each NIC.
SENT = [("requester", "packets"), *(("ack_generator", name) for name in (
    "acks", "naks", "rnr_naks", "read_responses", "atomic_responses", "cnps"))]
COUNTERS = {
    "counters/port_rcv_packets": [("rx_buffer", "packets")], "counters/port_xmit_packets": SENT,
    "counters/port_rcv_errors": [("rx_parser", "icrc_errors")],
    "hw_counters/duplicate_request": [("transport", "duplicates")],
    "hw_counters/implied_nak_seq_err": [("transport", "answer_gaps")],
    "hw_counters/local_ack_timeout_err": [("requester", "timeouts")],
    "hw_counters/np_cnp_sent": [("ack_generator", "cnps")],
    "hw_counters/np_ecn_marked_roce_packets": [("rx_parser", "ecn_marked")],
    "hw_counters/out_of_buffer": [("srq_wqe_fetcher", "no_wqe")],
    "hw_counters/resp_remote_access_errors": [("address_translator", "remote_errors")],
    "hw_counters/rnr_nak_retry_err": [("requester", "rnr_waits")],
    "hw_counters/rp_cnp_handled": [("requester", "cnps")],
    "hw_counters/rx_atomic_requests": [("ack_generator", "atomics")],
    "hw_counters/rx_icrc_encapsulated": [("rx_parser", "icrc_errors")],
    "hw_counters/rx_read_requests": [("ack_generator", "reads")],
}
DATA = ("counters/port_rcv_data", "counters/port_xmit_data")  # in words of four bytes


def counters(bench):
    """Each counter of a port is a number, during the run and after it that of the report."""
    live.need("ib_send_bw", "ib_read_bw")
    with live.Fabric(bench, 2, record=False) as fabric:
        for program, size in (("ib_send_bw", 5000), ("ib_read_bw", 65536)):
            port = live.Port()
            try:
                options = ["-F", "-p", port.number, "-n", 50, "-s", size]
                fabric.pair([program, "-d", "rxnic0", *options], [program, "-d", "rxnic1", *options, "127.0.0.1"], port)
            finally:
                port.close()
        script = ("cd /; for f in /sys/class/infiniband/*/ports/1/counters/* "
                  "/sys/class/infiniband/*/ports/1/hw_counters/*; do echo \"$f $(cat $f)\"; done")
        shown = dict(line.split() for line in fabric.run("bash", "-c", script, **fabric.device_files()).splitlines())
    folder = fabric.folder / "out" / "device_files"
    after = {str(file).removeprefix(str(folder)): file.read_text(encoding="ascii")
             for kind in ("counters", "hw_counters") for file in folder.rglob(f"{kind}/*")}
    bench.expect_equal(sorted(shown), sorted(after), "files that a program sees")
    for file, text in after.items():
        bench.expect(re.fullmatch(r"\d+ *\n", text) and len(text) == 21, f"{file}: {text!r}")
        bench.expect_equal(int(shown[file]), int(text), f"{file}: in the run, and after it")
    for nic, one in enumerate(fabric.report["nics"]):
        port = f"/sys/class/infiniband/rxnic{nic}/ports/1"
        found = {name.removeprefix(f"{port}/"): int(text) for name, text in after.items() if name.startswith(port)}
        bench.expect_equal(sorted(found), sorted([*COUNTERS, *DATA]), f"NIC {nic}: files")
        for name, sources in COUNTERS.items():
            counted = sum(one[block][key] if block == "transport" else one["blocks"][block]["counters"][key]
                          for block, key in sources)
            bench.expect_equal(found[name], counted, f"NIC {nic}: {name}")
        received = one["blocks"]["rx_parser"]["counters"]["bytes"]
        bench.expect_equal(found["counters/port_rcv_data"], received // 4, f"NIC {nic}: words received")
        other = fabric.report["nics"][1 - nic]["blocks"]["rx_parser"]["counters"]["bytes"]
        bench.expect_equal(found["counters/port_xmit_data"], other // 4, f"NIC {nic}: words sent")
        bench.expect(found["counters/port_rcv_packets"] >= 100, f"NIC {nic}: {found}")


def off(bench):
    """--no-device-files: the host's files, and no folder."""
    done = run(bench, "sh", "-c", "ls /sys/class/infiniband/rxnic0; echo $LD_PRELOAD.$RXNIC_DEVICE_FILES",
               arguments=("--no-device-files",))
    bench.expect_equal(done.stdout, ".\n", done.stderr)
    bench.expect(not (bench.folder / "out" / "device_files").exists(), "a folder of files")
    if bench.options.preload:
        print("what the user preloads is not tried: a sanitizer's library has to be the first")
        return
    before = os.environ.get("LD_PRELOAD")
    os.environ["LD_PRELOAD"] = "libc.so.6"
    try:
        done = run(bench, "sh", "-c", "echo $LD_PRELOAD")
    finally:
        del os.environ["LD_PRELOAD"]
        if before is not None:
            os.environ["LD_PRELOAD"] = before
    bench.expect(re.fullmatch(r"/\S+/librxnic_device_files.so:libc.so.6\n", done.stdout), done.stdout)


def ucx(bench):
    """ucx_info -d lists the NICs with RC and UD, and --no-device-files hides them."""
    live.need("ucx_info")
    ucx_info = ["sh", "-c", f"exec env {live.variables(bench)} ucx_info -d"]
    shown = run(bench, *ucx_info).stdout
    for nic in ("rxnic0", "rxnic1"):
        for transport in ("rc_verbs", "ud_verbs"):
            bench.expect(re.search(rf"Transport: {transport}\n#\s+Device: {nic}:1", shown), f"{nic}: no {transport}")
    hidden = run(bench, *ucx_info, arguments=("--no-device-files",)).stdout
    bench.expect("rxnic" not in hidden, hidden[-2000:])


CHECKS = {"looks": looks, "counters": counters, "off": off, "ucx": ucx}

if __name__ == "__main__":
    sys.exit(e2e.run(live.parser_for(__doc__, CHECKS), CHECKS))
