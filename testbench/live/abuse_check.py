#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that takes more than its share (abuse.cpp): the others go on, and a signal ends the simulator at once."""
import os
import pathlib
import re
import signal
import sys
import time

import live
from live import e2e

SOON = 2.0  # seconds within which a signal ends the simulator
MEMORY = 600  # MB that the simulator may have
SHADOW = 4  # times as much with a sanitizer, which has memory of its own for each byte, and keeps freed memory
SLOWER = 4  # times, with a sanitizer


def slower(bench):
    return SLOWER if bench.options.preload else 1


def start(bench, fabric, *arguments):
    return fabric.start("abuse", bench.options.programs / "abuse", *arguments)


def said(bench, program, text):
    live.wait_until(lambda: text in program.text() or program.ended(), f"abuse saying '{text}'")
    bench.expect(text in program.text(), program.story())


def next_program(bench, fabric):
    """Another program opens a NIC and makes a CQ."""
    text = fabric.run(bench.options.programs / "abuse", "verbs")
    bench.expect("made a CQ" in text, text[-2000:])


def ends_soon(bench, fabric, number=signal.SIGTERM):
    begin = time.monotonic()
    fabric.simulator.signal(number)
    code = fabric.simulator.wait(30)
    took = time.monotonic() - begin
    bench.expect_equal(code, 0, f"exit code: {fabric.simulator.story()}")
    bench.expect(took < SOON * slower(bench), f"{signal.Signals(number).name} took {took:.1f} s")
    print(f"{signal.Signals(number).name}: {took:.2f} s")


def peak_memory(fabric):
    """In MB."""
    status = pathlib.Path(f"/proc/{fabric.simulator.process.pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) // 1024


def processor_time(fabric):
    """Of the simulator, in seconds."""
    stat = pathlib.Path(f"/proc/{fabric.simulator.process.pid}/stat").read_text(encoding="ascii")
    fields = stat.rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def doorbells(bench):
    """Every doorbell of 8,192 QPs, without a pause: bounded memory, and the end of the program is soon over."""
    with live.Fabric(bench, 2, record=False) as fabric:
        attacker = start(bench, fabric, "doorbells")
        bench.expect_equal(attacker.wait(), 0, attacker.story())
        begin = time.monotonic()
        next_program(bench, fabric)
        most, peak = MEMORY * (SHADOW if bench.options.preload else 1), peak_memory(fabric)
        print(f"the next program took {time.monotonic() - begin:.1f} s; {peak} MB")
        bench.expect(peak < most, f"{peak} MB; expected less than {most}")
    for number in (signal.SIGINT, signal.SIGTERM):
        fabric = live.Fabric(bench, 2, record=False)
        fabric.open()
        attacker = start(bench, fabric, "doorbells", "8192", "hold")
        said(bench, attacker, "8192 QPs")
        time.sleep(1)
        ends_soon(bench, fabric, number)
        attacker.kill()


def opens(bench):
    """More opens than there are identifiers, refused and granted ones; more names than the report lists."""
    with live.Fabric(bench, 2, record=False) as fabric:
        for way, count in (("opens", 17000), ("reopens", 17000), ("names", 400)):
            attacker = start(bench, fabric, way, count)
            bench.expect_equal(attacker.wait(), 0, attacker.story())
            next_program(bench, fabric)
    programs = fabric.report["programs"] if fabric.report else []
    others = sum(program["clients"] for program in programs if program["name"] == "(others)")
    bench.expect(256 < len(programs) <= 258 and others > 100, f"{len(programs)} programs, {others} others")


def descriptors(bench):
    """Descriptors that make their owner wait, or keep it awake."""
    with live.Fabric(bench, 2, record=False) as fabric:
        lingers = start(bench, fabric, "linger")
        bench.expect_equal(lingers.wait(), 0, lingers.story())
        print(lingers.text().strip())
        awake = start(bench, fabric, "semaphore")
        said(bench, awake, "opened")
        before = processor_time(fabric)
        awake.wait()
        took = processor_time(fabric) - before
        print(f"beside an eventfd that stays readable: {took:.2f} s of CPU time in 3 s")
        bench.expect(took < 0.5, f"{took:.2f} s of CPU time in 3 s")


def userfault(bench):
    """Pages that a program does not supply: it is killed or its request fails, and the others go on."""
    with live.Fabric(bench, 2, record=False) as fabric:
        attacker = start(bench, fabric, "userfault")
        begin = time.monotonic()
        code = attacker.wait(20)
        if code == 77:
            raise e2e.Skip("no userfaultfd for this user")
        print(f"over after {time.monotonic() - begin:.1f} s")
        if code == 0:  # the kernel did not wait for the page
            bench.expect("local protection error" in attacker.text(), attacker.story())
        else:
            bench.expect(code == -signal.SIGKILL and "still running" not in attacker.text(), attacker.story())
            live.wait_until(lambda: "killed process" in fabric.simulator.text(), "the simulator saying so")
        next_program(bench, fabric)
    fabric = live.Fabric(bench, 2, record=False)
    fabric.open()
    attacker = start(bench, fabric, "userfault")
    said(bench, attacker, "sends")
    ends_soon(bench, fabric)
    attacker.kill()


def silent(bench):
    """Connections that say nothing: the next program is told why it is refused, and is taken after a while."""
    with live.Fabric(bench, 2, record=False) as fabric:
        attacker = start(bench, fabric, "silent", "300")
        said(bench, attacker, "300 connections")
        refused = fabric.start("refused", bench.options.programs / "abuse", "verbs")
        bench.expect(refused.wait(30) != 0 and "as many connections as it takes" in refused.text(), refused.story())
        begin = time.monotonic()
        live.wait_until(lambda: "opened no NIC" in fabric.simulator.text(), "connections being closed", 30)
        next_program(bench, fabric)
        print(f"the next program was taken after {time.monotonic() - begin:.1f} s")


def lines(bench):
    """A program that is refused all the time does not fill the disk."""
    with live.Fabric(bench, 2, record=False) as fabric:
        attacker = start(bench, fabric, "lines")
        bench.expect_equal(attacker.wait(), 0, attacker.story())
        count = int(re.search(r"(\d+) opens were refused", attacker.text())[1])
        bench.expect(count > 1000 / slower(bench), f"only {count} opens")
        size = len(fabric.simulator.text())
        print(f"{count} refusals: {size} bytes")
        bench.expect(100 < size < 20000, f"{size} bytes for {count} refusals")


def mappings(bench):
    """Mappings of 1 TiB until the address space would be full: each is refused, and the next program is served."""
    with live.Fabric(bench, 2, record=False) as fabric:
        attacker = start(bench, fabric, "mappings")
        bench.expect_equal(attacker.wait(), 0, attacker.story())
        bench.expect("the mapping has 1099511627776 bytes, expected" in fabric.simulator.text(),
                     fabric.simulator.text()[-2000:])
        next_program(bench, fabric)


def executes(bench):
    """Another image in a process whose memory is written to: none of its bytes changes."""
    with live.Fabric(bench, 2, record=False) as fabric:
        text = fabric.run(bench.options.programs / "abuse", "executes", "10")
        bench.expect("10 images were not written to" in text, text[-2000:])
        next_program(bench, fabric)


def huge(bench):
    """16 GiB registered again and again: what others ask for and send does not wait for it."""
    with live.Fabric(bench, 2, record=False) as fabric:
        def rounds(where):
            text = fabric.run(bench.options.programs / "abuse", "pings")
            print(f"{where}: {text.strip()}")
            return int(re.search(r"messages: (\d+)", text)[1])

        alone = rounds("alone")
        attacker = start(bench, fabric, "huge")
        said(bench, attacker, "registered")
        beside = rounds("beside 16 GiB")
        attacker.kill()
        bench.expect(beside > alone / 4, f"{beside} rounds in two seconds, {alone} alone")
        next_program(bench, fabric)


CHECKS = {"doorbells": doorbells, "opens": opens, "descriptors": descriptors, "userfault": userfault, "silent": silent,
          "mappings": mappings, "executes": executes,
          "huge": huge, "lines": lines}

if __name__ == "__main__":
    parser = live.parser_for(__doc__, CHECKS)
    parser.add_argument("--programs", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FOLDER",
                        help="where abuse is")
    sys.exit(e2e.run(parser, CHECKS))
