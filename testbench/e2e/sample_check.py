#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_sample writes traces/sample.pcap, byte for byte."""
import pathlib
import sys

import e2e


def sample(bench):
    """The committed file is what the program makes."""
    done = bench.start(bench.options.make_sample, "sample.pcap")
    bench.expect_equal(done.returncode, 0, f"make_sample: {done.stderr}")
    bench.expect((bench.folder / "sample.pcap").read_bytes() == e2e.SAMPLE.read_bytes(),
                 "traces/sample.pcap is not what make_sample writes")
    bench.expect_equal(bench.start(bench.options.make_sample).returncode, 2, "make_sample without a file")
    bench.expect_equal(bench.start(bench.options.make_sample, "no/folder.pcap").returncode, 1, "no such folder")


CHECKS = {"sample": sample}

if __name__ == "__main__":
    parser = e2e.parser_for(__doc__, CHECKS)
    parser.add_argument("--make-sample", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FILE",
                        help="the program that writes the sample")
    sys.exit(e2e.run(parser, CHECKS))
