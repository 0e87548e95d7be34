# SPDX-License-Identifier: Apache-2.0
"""A file whose close never ends: of a file system in user space (FUSE) that takes the request and never answers.

    with fuse_file.EndlessFile() as file:
        ...  # other processes open file.path, and each close() of it waits until release() or the end of the block

No signal ends such a close, SIGKILL neither: who opens the file should be a process of its own. Another process serves
the file system, in a mount namespace of its own, so that nothing is left behind whoever is killed. When it ends, with
this process at the latest, the kernel ends all requests. An ordinary user gets a user namespace with it.
"""
import ctypes
import os
import pathlib
import signal
import struct
import subprocess
import sys

LOOKUP, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT = 1, 3, 14, 15, 17, 18, 25, 26
WITHOUT_ANSWER = {"FORGET": 2, "INTERRUPT": 36, "BATCH_FORGET": 42}
ENOENT, ENOSYS = 2, 38
ROOT, FILE = 1, 2  # nodes
BYTES = 1 << 16  # of the file
CONTROL = b"/sys/fs/fuse/connections"
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 2, 4, 0x4000, 0x40000
PR_SET_PDEATHSIG = 1
COVERED = b"/tmp"  # in that mount namespace


class NotPermitted(Exception):
    """There is no FUSE for this user; says why."""


class EndlessFile:
    """path: of the file, for processes of this user. unanswered: FLUSH, which each close() sends, or other requests."""

    def __init__(self, name="file", unanswered=(FLUSH,)):
        command = [sys.executable, "-B", __file__, name, *map(str, unanswered)]
        self.server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                       start_new_session=True)
        self.path = self.server.stdout.readline().strip()
        if not self.path.startswith("/"):
            self.release()
            raise NotPermitted(self.path or "the file system did not start")

    def release(self):
        """All closes end, and the file with them."""
        self.server.kill()
        self.server.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()


def mount_control():
    """fusectl, by which whoever has mounted a FUSE can abort it; in a mount namespace of this process."""
    libc = ctypes.CDLL(None, use_errno=True)
    if (libc.unshare(CLONE_NEWNS) != 0 or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) != 0 or
            libc.mount(b"none", CONTROL, b"fusectl", 0, None) != 0):
        raise NotPermitted(f"fusectl cannot be mounted: {os.strerror(ctypes.get_errno())}")


def attributes(node):
    mode = 0o040755 if node == ROOT else 0o100666
    size = 0 if node == ROOT else BYTES
    return struct.pack("=6Q10I", node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, os.getuid(), os.getgid(), 0, 4096, 0)


def answer_to(opcode, node, body, name):
    """Status (0 or an errno) and bytes."""
    if opcode == INIT:
        return 0, struct.pack("=4I2H2I2H8I", 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0, *[0] * 8)
    if opcode == LOOKUP:
        known = node == ROOT and body.rstrip(b"\0") == name
        return (0, struct.pack("=4Q2I", FILE, 0, 3600, 3600, 0, 0) + attributes(FILE)) if known else (ENOENT, b"")
    if opcode == GETATTR:
        return 0, struct.pack("=Q2I", 3600, 0, 0) + attributes(node)
    if opcode == OPEN:
        return 0, struct.pack("=Q2I", 1, 0, 0)
    return (0 if opcode == RELEASE else ENOSYS), b""


def mount(libc):
    """The open /dev/fuse."""
    def call(function, *arguments):
        if function(*arguments) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    uid, gid = os.geteuid(), os.getegid()
    call(libc.unshare, CLONE_NEWNS | (CLONE_NEWUSER if uid != 0 else 0))
    if uid != 0:
        pathlib.Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        pathlib.Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="ascii")
        pathlib.Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="ascii")
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)  # in the namespace that mounts it
    call(libc.mount, None, b"/", None, MS_REC | MS_PRIVATE, None)
    options = f"fd={device},rootmode=40000,user_id={uid},group_id={gid}".encode()
    call(libc.mount, b"rxnic-test", COVERED, b"fuse", MS_NOSUID | MS_NODEV, options)
    return device


def serve(name, unanswered):
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getppid()
    try:
        device = mount(libc)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        root = os.open(COVERED, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        print(f"no file system in user space: {error}", flush=True)
        return 1
    if os.getppid() != parent:
        return 1
    print(f"/proc/{os.getpid()}/fd/{root}/{name}", flush=True)
    while True:
        try:
            request = os.read(device, 1 << 17)
        except InterruptedError:
            continue
        except OSError:
            return 0
        length, opcode, unique, node = struct.unpack_from("=IIQQ", request)
        if opcode in unanswered or opcode in WITHOUT_ANSWER.values():
            continue
        status, data = answer_to(opcode, node, request[40:length], name.encode())
        try:
            os.write(device, struct.pack("=IiQ", 16 + len(data), -status, unique) + data)
        except OSError:
            pass  # the request has ended meanwhile


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1], {int(opcode) for opcode in sys.argv[2:]}))
