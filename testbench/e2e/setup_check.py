#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/setup: no service is started and none is enabled. The script runs in a copy of the root folder, an overlay in
a mount namespace. An apt-get of the check's own does there what installing a package with services does."""
import os
import re
import shutil
import sys

import e2e

# Nothing is installed, so that everything is missing.
DPKG_QUERY = "#!/bin/sh\n"
# What policy-rc.d says, then what a package's postinst does.
APT_GET = """#!/bin/bash
[[ $1 == install ]] || exit 0
sh /usr/sbin/policy-rc.d; echo "policy-rc.d says $?"
/scene/enable brought
exit "$STATUS"
"""
# A service with a script of /etc/init.d, one without and by a second name, a socket.
ENABLE = """#!/bin/bash
unit() {
  printf '[Install]\\n%s\\n' "${@:2}" >/lib/systemd/system/"$1"
  DPKG_MAINTSCRIPT_PACKAGE=$1 deb-systemd-helper enable "$1" >/dev/null
}
unit "$1".service WantedBy=multi-user.target
unit "$1"-alone.service WantedBy=multi-user.target Alias="$1"-too.service
unit "$1".socket WantedBy=sockets.target
cat >/etc/init.d/"$1" <<END
#!/bin/sh
### BEGIN INIT INFO
# Provides: $1
# Required-Start:
# Required-Stop:
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
### END INIT INFO
END
chmod 755 /etc/init.d/"$1"
update-rc.d "$1" defaults
"""
# POLICY: what policy-rc.d is before; empty: there is none.
SCENE = """#!/bin/bash
export PATH=/scene/bin:/usr/sbin:/usr/bin:/sbin:/bin
rm -f /usr/sbin/policy-rc.d
[[ -z $POLICY ]] || printf '%s\\n' "$POLICY" >/usr/sbin/policy-rc.d
/scene/enable before
/scene/setup test
echo "setup exits $?"
find /etc/systemd/system /etc/rc?.d -type l '(' -name '*before*' -o -name '*brought*' ')' -printf 'link %p\\n'
[[ ! -e /usr/sbin/policy-rc.d ]] || echo "policy left: $(cat /usr/sbin/policy-rc.d)"
"""
# Where the root folder is no mount of its own, in a plain chroot, there is none either.
COPY = """mount --make-rprivate / && mount -t tmpfs tmpfs "$1" && cd "$1" && mkdir upper work root &&
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" root &&
mount --rbind /dev root/dev && mount --rbind /proc root/proc && cp -r "$0" root/scene || exit 77
exec chroot root /scene/scene
"""


def in_copy(bench, policy="", status=0):
    """Standard output and error of the scene."""
    if os.geteuid() != 0:
        raise e2e.Skip("root, for a copy of the root folder")
    for tool in ("unshare", "deb-systemd-helper", "update-rc.d"):
        if not shutil.which(tool):
            raise e2e.Skip(f"{tool} is not installed")
    if bench.start("unshare", "--mount", "true").returncode != 0:
        raise e2e.Skip("no mount namespace can be made, for a copy of the root folder")
    scene, root = bench.folder / "scene", bench.folder / "root"
    (scene / "bin").mkdir(parents=True, exist_ok=True)
    root.mkdir(exist_ok=True)
    for name, text in (("bin/dpkg-query", DPKG_QUERY), ("bin/apt-get", APT_GET), ("enable", ENABLE), ("scene", SCENE)):
        (scene / name).write_text(text)
        (scene / name).chmod(0o755)
    shutil.copy(e2e.ROOT / "scripts" / "setup", scene)
    done = bench.start("unshare", "--mount", "--propagation", "unchanged", "bash", "-c", COPY, scene, root,
                       env={**os.environ, "POLICY": policy, "STATUS": str(status)})
    if done.returncode == e2e.SKIPPED:
        raise e2e.Skip(f"no copy of the root folder: {done.stderr.strip()}")
    return done.stdout + done.stderr


def expect_as_before(bench, said, what):
    """What was enabled before is as it was, and nothing else is enabled."""
    links = re.findall(r"^link (.*)", said, re.M)
    for where in ("multi-user.target.wants/before.service", "multi-user.target.wants/before-alone.service",
                  "system/before-too.service", "sockets.target.wants/before.socket", "rc2.d/S01before"):
        bench.expect(any(link.endswith(where) for link in links), f"{what}: {where} is gone: {links}")
    on = [link for link in links if "brought" in link and not re.search(r"/rc\d\.d/K\d\dbrought$", link)]
    bench.expect_equal(on, [], f"{what}: links of the service that was brought")
    bench.expect("/rc2.d/K01brought" in said, f"{what}: no service was brought: {said}")


def services(bench):
    """A policy says during the installation that nothing is started; what was enabled by it is disabled behind it."""
    said = in_copy(bench)
    bench.expect_equal(set(re.findall(r"policy-rc\.d says (\d+)", said)), {"101"}, "during the installation")
    bench.expect("setup exits 0\n" in said, said)
    bench.expect("policy left" not in said, said)
    expect_as_before(bench, said, "installed")


def policy(bench):
    """A policy that the system has is kept, and is the one that is asked."""
    said = in_copy(bench, policy="exit 42")
    bench.expect_equal(set(re.findall(r"policy-rc\.d says (\d+)", said)), {"42"}, "during the installation")
    bench.expect("policy left: exit 42\n" in said, said)
    expect_as_before(bench, said, "with a policy")


def failure(bench):
    """An installation that fails leaves neither a policy nor an enabled service."""
    said = in_copy(bench, status=100)
    bench.expect("setup exits 2\n" in said and "could not install: cmake" in said, said)
    bench.expect("policy left" not in said, said)
    expect_as_before(bench, said, "not installed")


CHECKS = {"services": services, "policy": policy, "failure": failure}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
