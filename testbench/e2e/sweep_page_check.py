#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sweep.html in headless Chromium: each chart draws, follows what is chosen, and nothing is loaded.

Needs chromium, chromium-driver, python3-selenium and snakemake, and node and npm for scripts/page.
"""
import json
import os
import sys

import e2e
from page_browser_check import need_browser, opened, until
from sweep_check import Sweep, done_well

PAGE = """\
title = "<b>tags</b> and latencies"
about = "</script><script>alert(1)</script>"
figures = ["rates.packets_per_s", "latency_ns.p99"]
[run]
source = "trace.pcap"
[[axes]]
dma_engine.read_latency_ps = { from = "100ns", to = "10us", count = 3, log = true }
[[axes]]
dma_engine.tags = [8, 64]
[[axes]]
pace = ["line-rate", "captured"]
"""
OPTION = "return rxnic.drawn.get(arguments[0]).getOption()"


def written(bench, text=PAGE):
    """The page of a sweep, made with what scripts/page makes."""
    need_browser(bench)
    sweep = Sweep(bench, text)
    sweep.environment["RXNIC_SWEEP_SCRIPT"] = str(e2e.ROOT / "build" / "page" / "sweep.js")
    done_well(bench, sweep.start(), "sweep")
    return bench.folder / "page.sweep" / "sweep.html", sweep


def choose(driver, part, number, value):
    """Another value in a part's chooser."""
    driver.execute_script("""
        const select = document.querySelectorAll(`#${arguments[0]} .chooser select`)[arguments[1]];
        select.value = arguments[2];
        select.dispatchEvent(new Event("change"));""", part, number, value)


def drawn(driver, part):
    driver.execute_script("rxnic.draw_all()")
    return until(lambda: driver.execute_script(f"{OPTION.replace('.getOption()', '?.getOption()')}", part), part)


def charts(bench):
    """Curves, heat map and parallel coordinates show the means of sweep.csv, and follow the choosers."""
    page, sweep = written(bench)
    rows = sweep.rows()

    def mean(figure, **wanted):
        values = [float(row[figure]) for row in rows
                  if all(row[f"set.{name.replace('__', '.')}"] == str(value) for name, value in wanted.items())]
        return sum(values) / len(values)

    with opened(bench, page) as driver:
        curve = drawn(driver, "curves")
        bench.expect_equal([one["name"] for one in curve["series"]], ["dma_engine.tags 8", "dma_engine.tags 64"],
                           "lines")
        bench.expect_equal(curve["xAxis"][0]["type"], "log", "the axis of a logarithmic range")
        for tags, one in zip((8, 64), curve["series"]):
            for latency, value in one["data"]:
                expected = mean("rates.packets_per_s", dma_engine__tags=tags, dma_engine__read_latency_ps=latency)
                bench.expect(abs(value - expected) <= 1e-9 * expected, f"{tags}, {latency}: {value}, not {expected}")
        choose(driver, "curves", 0, "latency_ns.p99")
        choose(driver, "curves", 3, "0")
        curve = drawn(driver, "curves")
        latency, value = curve["series"][1]["data"][2]
        bench.expect_equal(value, mean("latency_ns.p99", dma_engine__tags=64, dma_engine__read_latency_ps=latency,
                                       pace="line-rate"), "p99 at one pace")
        heat = drawn(driver, "heat")
        bench.expect_equal(len(heat["series"][0]["data"]), 6, "cells of the heat map")
        x, y, value = heat["series"][0]["data"][4]
        expected = mean("rates.packets_per_s", dma_engine__tags=heat["yAxis"][0]["data"][y],
                        dma_engine__read_latency_ps=heat["xAxis"][0]["data"][x])
        bench.expect(abs(value - expected) <= 1e-9 * expected, f"a cell: {value}, not {expected}")
        lines = drawn(driver, "parallel")
        bench.expect_equal(len(lines["series"][0]["data"]), 12, "lines of the parallel coordinates")
        bench.expect_equal([one["name"] for one in lines["parallelAxis"]],
                           ["dma_engine.read_latency_ps", "dma_engine.tags", "pace", "rates.packets_per_s",
                            "latency_ns.p99"], "axes")
        shown = driver.execute_script("return document.querySelectorAll('#table-points tbody tr').length")
        bench.expect_equal(shown, 12, "rows of the table")
        title = driver.execute_script("return document.querySelector('header .run').textContent")
        bench.expect_equal(title, "<b>tags</b> and latencies", "the title is text")
        painted = driver.execute_script("""
            return [...rxnic.drawn].map(([name, chart]) => {
              const canvas = chart.getDom().querySelector("canvas");
              const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
              const colours = new Set();
              for (let n = 0; n < data.length; n += 4)
                if (data[n + 3] > 200) colours.add(data[n] << 16 | data[n + 1] << 8 | data[n + 2]);
              return [name, colours.size];
            });""")
        bench.expect(len(painted) == 3 and all(count > 10 for _, count in painted), f"colours painted: {painted}")


def one_axis(bench):
    """A sweep of one axis has curves and lines, and no heat map; a text is a category."""
    page, _ = written(bench, PAGE.replace('count = 3', 'count = 2').replace("[8, 64]", "[8]")
                      .replace('{ from = "100ns", to = "10us", count = 2, log = true }', "[400000]"))
    with opened(bench, page) as driver:
        curve = drawn(driver, "curves")
        bench.expect_equal(curve["xAxis"][0]["type"], "category", "the axis of a text")
        bench.expect_equal(curve["xAxis"][0]["data"], ["line-rate", "captured"], "its values")
        bench.expect_equal(driver.execute_script("return document.querySelectorAll('#heat').length"), 0, "heat maps")


def file(bench):
    """The file holds the data as text, and is not written without what draws it; an old one is removed then."""
    page, sweep = written(bench)
    text = page.read_text(encoding="utf-8")
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    bench.expect_equal(data["about"], "</script><script>alert(1)</script>", "what the page is about")
    bench.expect_equal(text.count("<script"), 2, "scripts")
    bench.expect(os.fspath(bench.folder) not in text, "a path is in the page")
    done_well(bench, sweep.start(), "again")
    bench.expect_equal(page.read_text(encoding="utf-8"), text, "the page of a second start")
    sweep.environment["RXNIC_SWEEP_SCRIPT"] = str(bench.folder / "none")
    done = sweep.start()
    done_well(bench, done, "without a script")
    bench.expect("sweep.html was not written: scripts/page" in done.stdout, f"without a script: {done.stdout}")
    bench.expect(not page.exists(), "the page of an earlier start is there")


CHECKS = {"charts": charts, "one_axis": one_axis, "file": file}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
