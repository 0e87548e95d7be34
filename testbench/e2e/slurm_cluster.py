# SPDX-License-Identifier: Apache-2.0
"""A Slurm of one machine for a test: munged, slurmctld and slurmd as ordinary processes on the loopback.

All of their files are in one folder, and they end with the test.
"""
import contextlib
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import tempfile
import time

import e2e

TOOLS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "scancel")
PATIENCE = 60  # seconds, for the machine to be ready
CONF = """\
ClusterName=rxnic
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={controller}
SlurmdPort={daemon}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,sched_min_interval=100000
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def end(process):
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def tail(folder):
    """What the daemons wrote last."""
    return "\n".join(line for path in sorted(folder.glob("*.log")) for line in
                     [path.name, *path.read_text(encoding="utf-8", errors="replace").splitlines()[-8:]])


@contextlib.contextmanager
def slurm_cluster(cores):
    """The environment for sbatch and others. Raises e2e.Skip when something is not installed."""
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    absent = [tool for tool in TOOLS if not shutil.which(tool, path=path)]
    if absent:
        raise e2e.Skip(f"{', '.join(absent)}: not installed (apt-get install slurmctld slurmd slurm-client munge)")
    with tempfile.TemporaryDirectory(prefix="rxnic-slurm-") as name, contextlib.ExitStack() as running:
        folder = pathlib.Path(name)
        folder.chmod(0o755)  # munged wants its socket to be reached by all
        controller, daemon = free_ports(2)
        host = socket.gethostname().partition(".")[0]
        conf = folder / "slurm.conf"
        conf.write_text(CONF.format(host=host, user=pwd.getpwuid(os.getuid()).pw_name, folder=folder, cores=cores,
                                    controller=controller, daemon=daemon), encoding="utf-8")
        (folder / "cgroup.conf").write_text("CgroupAutomount=no\n", encoding="utf-8")
        (folder / "munge.key").write_bytes(os.urandom(1024))
        (folder / "munge.key").chmod(0o600)
        environment = {**os.environ, "PATH": path, "SLURM_CONF": str(conf)}

        def start(what, *arguments):
            log = running.enter_context((folder / f"{what}.out.log").open("wb"))
            process = subprocess.Popen([what, *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=log)
            running.callback(end, process)
            return process

        def until(holds, what, *processes):
            """Asks again until it holds. A daemon that ends, or PATIENCE, ends the test."""
            last = time.monotonic() + PATIENCE
            while not holds():
                if time.monotonic() > last or any(one.poll() is not None for one in processes):
                    raise RuntimeError(f"{what}:\n{tail(folder)}")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    processes[-1].wait(timeout=0.1)

        munge = start("munged", "--foreground", "--force", f"--socket={folder}/munge.socket",
                      f"--key-file={folder}/munge.key", f"--pid-file={folder}/munged.pid",
                      f"--log-file={folder}/munged.log", f"--seed-file={folder}/munge.seed")
        until((folder / "munge.socket").exists, "munged is not ready", munge)
        control = start("slurmctld", "-D", "-f", str(conf))
        node = start("slurmd", "-D", "-f", str(conf), "-N", host)

        def ready():
            said = subprocess.run(["scontrol", "-o", "show", "node", host], env=environment, capture_output=True,
                                  text=True, check=False).stdout
            return "State=IDLE" in said and "NOT_RESPONDING" not in said
        until(ready, "Slurm is not ready", munge, control, node)
        yield environment
