#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.html in headless Chromium: each chart draws, zoom, sort, filter, dark, CSV, SVG and PNG work, and nothing is
loaded.

Needs chromium, chromium-driver and python3-selenium, and node and npm for scripts/page. `--shots FOLDER` writes the
README's pictures.
"""
import base64
import contextlib
import csv
import importlib.util
import io
import json
import os
import pathlib
import shutil
import sys
import time
import xml.etree.ElementTree

import e2e
from events_check import record_of

WAIT = 30  # seconds, far above what anything takes
# [name, pixels in the colour of each series that is not small beside the others]: below the legend, whose icons have
# the colours, too.
PAINTED = """
return [...rxnic.drawn].map(([name, chart]) => {
  const option = chart.getOption();
  const canvas = chart.getDom().querySelector("canvas");
  const top = Math.floor(option.grid[0].top * canvas.height / chart.getHeight());
  const {data} = canvas.getContext("2d").getImageData(0, top, canvas.width, canvas.height - 60 - top);
  const colours = new Map();
  for (let n = 0; n < data.length; n += 4) {
    const colour = data[n] << 16 | data[n + 1] << 8 | data[n + 2];
    if (data[n + 3] > 120) colours.set(colour, 1 + (colours.get(colour) ?? 0));
  }
  const near = (a, b) => [16, 8, 0].every((bits) => Math.abs((a >> bits & 255) - (b >> bits & 255)) <= 2);
  const across = name.startsWith("cdf_") ? 0 : 1;
  const most = (one) => Math.max(...one.data.map((value) => Array.isArray(value) ? value[across] : value));
  const shown = option.series.filter((one) => option.legend[0].selected?.[one.name] !== false);
  const large = shown.filter((one) => most(one) >= 0.1 * Math.max(...shown.map(most)));
  return [name, large.map((one) => [...colours].reduce((sum, [colour, count]) =>
    sum + (near(colour, parseInt(one.color.slice(1), 16)) ? count : 0), 0))];
});
"""


def browser(folder, width=1280, height=900, dark=False):
    """A driver of headless Chromium that saves downloads in the folder."""
    from selenium import webdriver  # pylint: disable=import-outside-toplevel
    from selenium.webdriver.chrome.service import Service  # pylint: disable=import-outside-toplevel
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--disable-background-networking", "--no-first-run", f"--user-data-dir={folder / 'profile'}",
                     *(["--no-sandbox"] if os.geteuid() == 0 else [])):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    driver.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    resize(driver, width, height)
    prefer(driver, dark)
    return driver


def resize(driver, width, height):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})


def prefer(driver, dark):
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})


def until(condition, what):
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what}: not after {WAIT} s")


@contextlib.contextmanager
def opened(bench, page, **how):
    """The page in a browser; behind it, that it loaded nothing and complained about nothing."""
    driver = browser(bench.folder, **how)
    try:
        driver.get("about:blank")
        driver.get_log("performance")  # the browser's own first page
        driver.get(page.as_uri())
        ready = until(lambda: driver.execute_script("return globalThis.rxnic?.ready_ms"), "the page is ready")
        print(f"{page.parent.name}: {page.stat().st_size} bytes, could be used after {ready:.0f} ms")
        yield driver
        events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
        asked = [event["params"]["request"]["url"] for event in events
                 if event["method"] == "Network.requestWillBeSent"]
        other = [url for url in asked if not url.startswith(("file:", "blob:", "data:"))]
        loaded = [url for url in asked if url.startswith("file:") and url != page.as_uri()]
        bench.expect(asked and not other and not loaded, f"requests: {other + loaded} of {len(asked)}")
        bench.expect_equal([entry["message"] for entry in driver.get_log("browser")], [], "the console")
    finally:
        driver.quit()


def need_browser(bench):
    """A browser, and what scripts/page makes."""
    for program in ("chromium", "chromedriver"):
        if not shutil.which(program):
            raise e2e.Skip(program)
    if importlib.util.find_spec("selenium") is None:
        raise e2e.Skip("python3-selenium")
    made = bench.start(e2e.ROOT / "scripts" / "page")
    if made.returncode != 0:
        raise e2e.Skip(f"scripts/page: {made.stderr.strip()}")


def page_of(bench, out, packets="6000", *arguments):
    """A page of generated traffic with errors, by the script that scripts/page makes."""
    need_browser(bench)
    trace = bench.folder / f"{out}.pcap"
    bench.start(bench.options.make_traffic, trace, packets, 32, "spare_qps=64", "errors=20000")
    script = {**os.environ, "RXNIC_PAGE_SCRIPT": str(e2e.ROOT / "build" / "page" / "page.js")}
    done = bench.rxnic("replay", trace, "--psn", "strict", "--html", "--quiet", "--out", out, *arguments, env=script)
    bench.expect_equal(done.returncode, 0, f"replay --html: {done.stderr}")
    return bench.folder / out / "report.html"


def data_of(page):
    text = page.read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0]
    return json.loads(text)["runs"]


def zoom_of(driver, chart):
    return driver.execute_script(
        "const z = rxnic.drawn.get(arguments[0]).getOption().dataZoom[0]; return [z.start, z.end];", chart)


def charts(bench):
    """Each chart of the data is drawn, in the colour of each of its series; those over time are zoomed together."""
    page = page_of(bench, "run")
    run, = data_of(page)
    wanted = [one for one in run["charts"] if "absent" not in one]
    with opened(bench, page) as driver:
        driver.execute_script("rxnic.draw_all()")
        until(lambda: driver.execute_script("return rxnic.drawn.size") == len(wanted), f"{len(wanted)} charts")
        driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        painted = driver.execute_script(PAINTED)
        bench.expect(len(painted) >= 15, f"{len(painted)} charts")
        for name, pixels in painted:
            seen = sum(count > 0 for count in pixels)
            drawn = max(pixels) >= 20 and 2 * seen >= len(pixels)
            bench.expect(drawn, f"{name}: pixels of its series: {pixels}")
        bench.expect_equal(driver.execute_script("return document.querySelectorAll('.chart.absent').length"),
                           len(run["charts"]) - len(wanted), "charts that say why they are not there")
        place = driver.execute_script("""
            const plot = document.querySelector("#chart-throughput .plot");
            plot.scrollIntoView({block: "center"});
            const r = plot.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2];""")
        for _ in range(3):
            driver.execute_cdp_cmd("Input.dispatchMouseEvent", {
                "type": "mouseWheel", "x": place[0], "y": place[1], "deltaX": 0, "deltaY": -240, "modifiers": 2})
        until(lambda: zoom_of(driver, "throughput") != [0, 100], "the wheel zooms")
        zoomed = zoom_of(driver, "throughput")
        until(lambda: zoom_of(driver, "busy-nic0") == zoomed, "other charts follow")
        bench.expect(0 < zoomed[0] < zoomed[1] < 100, f"zoomed to {zoomed}")
        driver.find_element("css selector", "#chart-throughput .actions button").click()
        until(lambda: zoom_of(driver, "throughput") == [0, 100], "the whole time again")
        bench.expect_equal(zoom_of(driver, "packets"), [0, 100], "others follow, too")


def cells(driver, number):
    return driver.execute_script("""
        return [...document.querySelectorAll("#table-qps tbody tr")].map(
            (row) => row.cells[arguments[0]].textContent);""", number)


def tables(bench):
    """The table of QPs is sorted by a column, both ways, filtered by text, and paged."""
    page = page_of(bench, "run")
    qps, = (one for one in data_of(page)[0]["tables"] if one["id"] == "qps")
    with opened(bench, page) as driver:
        head = driver.execute_script("return [...document.querySelectorAll('#table-qps th')].map((h) => h.textContent)")
        bench.expect("nic" not in head and "qp" in head, f"columns: {head}")
        at, qp = head.index("packets"), head.index("qp")
        column = qps["columns"].index("packets")
        sort = driver.find_elements("css selector", "#table-qps th button")[at]
        driver.execute_script("arguments[0].click()", sort)
        counts = sorted((row[column] for row in qps["rows"]), reverse=True)
        bench.expect_equal([int(text.replace("\u202f", "")) for text in cells(driver, at)], counts[:25], "sorted")
        driver.execute_script("document.querySelectorAll('#table-qps th button')[arguments[0]].click()", at)
        counts.reverse()
        bench.expect_equal([int(text.replace("\u202f", "")) for text in cells(driver, at)], counts[:25], "and back")
        sorts = driver.execute_script("return document.querySelectorAll('#table-qps th')[arguments[0]].ariaSort", at)
        bench.expect_equal(sorts, "ascending", "aria-sort")
        wanted = hex(qps["rows"][7][qps["columns"].index("qp")])
        driver.find_element("css selector", "#table-qps input[type=search]").send_keys(wanted)
        bench.expect(set(cells(driver, qp)) == {wanted}, f"filtered by {wanted}: {cells(driver, qp)}")
        driver.execute_script("""
            const i = document.querySelector("#table-qps input[type=search]");
            i.value = ""; i.dispatchEvent(new Event("input"));
            document.querySelectorAll("#table-qps .pages button")[1].click();""")
        status = driver.find_element("css selector", "#table-qps .status").text
        bench.expect(status.startswith("26 to 50 of"), f"the second page: {status}")
        sizes = driver.execute_script("return document.querySelectorAll('#table-configuration tbody tr').length")
        bench.expect_equal(sizes, 25, "rows of the configuration at a time")


# What a button gives, without the browser's own handling of downloads, which asks after some of them.
GIVEN = """
const [buttons, text, done] = arguments;
const [click, create] = [HTMLAnchorElement.prototype.click, URL.createObjectURL];
HTMLAnchorElement.prototype.click = () => {};
URL.createObjectURL = (blob) => {
  [HTMLAnchorElement.prototype.click, URL.createObjectURL] = [click, create];
  const reader = new FileReader();
  reader.onload = () => done(reader.result.split(",")[1]);
  reader.readAsDataURL(blob);
  return create.call(URL, blob);
};
[...document.querySelectorAll(buttons)].find((one) => one.textContent === text).click();
"""


def given(driver, buttons, text):
    return base64.b64decode(driver.execute_async_script(GIVEN, buttons, text))


def files(bench):
    """CSV, SVG and PNG of every chart, and CSV of every table, have the values of the data; a download is a file."""
    page = page_of(bench, "run")
    run, = data_of(page)
    wanted = {one["id"] + (f"-nic{one['nic']}" if "nic" in one else ""): one for one in run["charts"]
              if "absent" not in one}
    listed = [one for one in run["tables"] if "absent" not in one]
    with opened(bench, page) as driver:
        for name, chart in wanted.items():
            buttons = f"#chart-{name} .actions button"
            head, *rows = csv.reader(io.StringIO(given(driver, buttons, "CSV").decode("utf-8"), newline=""))
            places = chart["x"].get("categories") or chart["x"]["values"]
            bench.expect_equal(head[1:], [series["name"] for series in chart["series"]], f"{name}: columns")
            bench.expect_equal(len(rows), len(places), f"{name}: rows")
            values = [[float(row[n + 1]) if row[n + 1] else None for row in rows] for n in range(len(head) - 1)]
            bench.expect_equal(values, [series["values"] for series in chart["series"]], f"{name}: values")
            drawn = xml.etree.ElementTree.fromstring(given(driver, buttons, "SVG"))
            texts = " ".join(one.text or "" for one in drawn.iter())
            bench.expect(drawn.tag.endswith("svg") and chart["title"][:10] in texts, f"{name}: SVG {drawn.tag}")
            shapes = sum(one.tag.endswith("path") for one in drawn.iter())
            bench.expect(shapes > len(chart["series"]), f"{name}: SVG of {shapes} shapes")
            picture = given(driver, buttons, "PNG")
            bench.expect(picture.startswith(b"\x89PNG") and len(picture) > 4000, f"{name}: PNG of {len(picture)} bytes")
        for table in listed:
            text = given(driver, f"#table-{table['id']} .actions button", "CSV").decode("utf-8")
            head, *rows = csv.reader(io.StringIO(text, newline=""))
            bench.expect_equal((head, len(rows)), (table["columns"], len(table["rows"])), f"{table['id']}: CSV")
        saved = driver.find_elements("css selector", "#chart-stages .actions button")[0]
        driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", saved)
        saved.click()
        until((bench.folder / "stages.csv").is_file, "stages.csv")
    bench.expect((bench.folder / "stages.csv").read_text(encoding="utf-8").startswith("stage,waiting"), "stages.csv")


def ground(driver):
    return driver.execute_script("return getComputedStyle(document.body).backgroundColor")


def shoot(bench, driver, name):
    if bench.options.shots:
        driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        (bench.options.shots / f"{name}.png").write_bytes(driver.get_screenshot_as_png())


def looks(bench):
    """Light and dark, by the system and by the switch; a phone has no wider page; printed, all charts are there."""
    page = page_of(bench, "run", "30000")
    with opened(bench, page) as driver:
        light = ground(driver)
        shoot(bench, driver, "page_light")
        driver.find_element("id", "theme").click()
        dark = ground(driver)
        driver.execute_script("document.getElementById('latency').scrollIntoView()")
        shoot(bench, driver, "page_dark")
        bench.expect(light != dark, f"the switch changes nothing: {light}")
        driver.find_element("id", "theme").click()
        bench.expect_equal(ground(driver), light, "back to light")
        driver.refresh()
        prefer(driver, True)
        bench.expect_equal(ground(driver), dark, "what the system prefers")
        prefer(driver, False)
        resize(driver, 390, 844)
        driver.execute_script("rxnic.draw_all(); scrollTo(0, 0)")
        widths = driver.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
        bench.expect_equal(widths, [390, 390], "the width on a phone")
        driver.execute_script("document.getElementById('time').scrollIntoView()")
        shoot(bench, driver, "page_phone")
        printed = driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
        bench.expect(len(printed) > 100_000, f"printed: {len(printed)} bytes")
        bench.expect_equal(driver.execute_script("return document.querySelectorAll('.plot canvas').length"),
                           driver.execute_script("return document.querySelectorAll('.plot').length"), "printed charts")


def compare(bench):
    """Two runs in the same charts; a run of programs with two NICs shows one at a time."""
    pages = [page_of(bench, "base"), page_of(bench, "slow", "6000", "--set", "dma_engine.read_latency_ps=900000")]
    script = {**os.environ, "RXNIC_PAGE_SCRIPT": str(e2e.ROOT / "build" / "page" / "page.js")}
    both = bench.folder / "both.html"
    done = bench.rxnic("compare", "--html", both, *(page.parent for page in pages), env=script)
    bench.expect_equal(done.returncode, 0, f"compare: {done.stderr}")
    with opened(bench, both) as driver:
        driver.execute_script("rxnic.draw_all()")
        names = driver.execute_script("return rxnic.drawn.get('throughput').getOption().series.map((one) => one.name)")
        bench.expect_equal(names, ["A: in", "A: out", "B: in", "B: out"], "series of both runs")
        differing = driver.execute_script("return document.querySelector('#table-differences tbody').textContent")
        bench.expect("dma_engine.read_latency_ps" in differing and "900000" in differing, f"{differing}")
        for name, pixels in driver.execute_script(PAINTED):
            bench.expect(any(count >= 20 for count in pixels), f"{name}: pixels of its series: {pixels}")
    done = bench.rxnic("replay", record_of(bench), "--html", "--quiet", "--out", "programs", env=script)
    bench.expect_equal(done.returncode, 0, f"of programs: {done.stderr}")
    with opened(bench, bench.folder / "programs" / "report.html") as driver:
        shown = "return ['cycles-nic0', 'cycles-nic1'].map((one) => document.getElementById('chart-' + one).hidden)"
        bench.expect_equal(driver.execute_script(shown), [False, True], "the first NIC")
        driver.execute_script("""
            const chooser = document.querySelector("header select");
            chooser.value = "1"; chooser.dispatchEvent(new Event("change"));""")
        bench.expect_equal(driver.execute_script(shown), [True, False], "the second NIC")


CHECKS = {"charts": charts, "tables": tables, "files": files, "looks": looks, "compare": compare}

if __name__ == "__main__":
    PARSER = e2e.parser_for(__doc__, CHECKS)
    PARSER.add_argument("--make-traffic", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FILE",
                        help="the program that writes captures")
    PARSER.add_argument("--shots", type=lambda f: pathlib.Path(f).resolve(), metavar="FOLDER",
                        help="write pictures of the page there")
    sys.exit(e2e.run(PARSER, CHECKS))
