// SPDX-License-Identifier: Apache-2.0
// The page of a run, or of several that are compared.
import { chart_card, draw_all, drawn } from "./chart_card.js";
import { button, element } from "./dom.js";
import { change_text, with_unit } from "./numbers.js";
import { charts_of } from "./overlay.js";
import style from "./style.css";
import { table_card } from "./table_card.js";
import { is_dark, set_theme } from "./theme.js";

const kSections = [
  ["time", "Over time"],
  ["latency", "Latency"],
  ["blocks", "Blocks"],
  ["caches", "Caches and tags"],
];
const kTroubles = ["qps", "drops", "naks"];

function list(texts) {
  return element("ul", {}, ...texts.map((text) => element("li", {}, text)));
}

// Of a run among several.
function full_name(run) {
  return [`${run.name} \u00b7 ${run.title}`, run.facts.set].filter(Boolean).join(", ");
}

function verdict_card(run, compared) {
  const { verdict } = run;
  return element(
    "div",
    { class: "card verdict" },
    element("p", { class: "eyebrow" }, compared ? full_name(run) : "Verdict"),
    element("p", { class: "headline" }, verdict.words[0] ?? ""),
    ...verdict.words.slice(1).map((words) => element("p", {}, words)),
    verdict.distrust.length
      ? element("div", { class: "note" }, element("h3", {}, "What to distrust"), list(verdict.distrust))
      : "",
    verdict.next.length
      ? element("div", { class: "note" }, element("h3", {}, "What to try next"), list(verdict.next))
      : "",
  );
}

function figure_cards(run) {
  const wanted = run.figures.filter((figure) => figure.key && (figure.value !== 0 || figure.less));
  return element(
    "dl",
    { class: "figures" },
    ...wanted.map((figure) =>
      element(
        "div",
        { class: figure.unit === "" && figure.less && figure.value ? "figure bad" : "figure" },
        element("dt", {}, figure.name),
        element("dd", {}, with_unit(figure.value, figure.unit)),
      ),
    ),
  );
}

// Figures side by side, each with its change from the first run.
function comparison(runs) {
  const names = [...new Set(runs.flatMap((run) => run.figures.map((figure) => figure.name)))];
  const row = (name) => {
    const figures = runs.map((run) => run.figures.find((figure) => figure.name === name));
    const first = figures[0];
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      ...figures.map((figure, n) => {
        if (!figure) return element("td", {}, "\u2013");
        const change = n > 0 && first ? figure.value / first.value - 1 : 0;
        const kind = !(Math.abs(change) >= 0.001) ? "" : change < 0 === figure.less ? "better" : "worse";
        return element(
          "td",
          { class: "number" },
          with_unit(figure.value, figure.unit),
          n > 0 && first
            ? element("span", { class: `change ${kind}` }, ` ${change_text(first.value, figure.value)}`)
            : "",
        );
      }),
    );
  };
  return element(
    "section",
    { class: "card table" },
    element("h3", {}, "Figures side by side"),
    element(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures side by side" },
      element(
        "table",
        {},
        element("caption", {}, "Figures of each run, and their change from the first one"),
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            element("th", { scope: "col" }, "figure"),
            ...runs.map((run) => element("th", { scope: "col", class: "number" }, full_name(run))),
          ),
        ),
        element("tbody", {}, ...names.map(row)),
      ),
    ),
  );
}

// What differs between the runs' configurations.
function differences(runs) {
  const tables = runs.map((run) => run.tables.find((table) => table.id === "configuration"));
  const [name, value, unit, meaning] = ["parameter", "value", "unit", "meaning"].map((key) =>
    tables[0].columns.indexOf(key),
  );
  const values = tables.map((table) => new Map(table.rows.map((row) => [row[name], row[value]])));
  const rows = tables[0].rows.filter((row) => values.some((of) => of.get(row[name]) !== row[value]));
  const table = {
    id: "differences",
    title: "Parameters that differ",
    about: "",
    left_out: 0,
    columns: ["parameter", ...runs.map((run) => run.name), "unit", "meaning"],
    rows: rows.map((row) => [
      row[name],
      ...values.map((of) => of.get(row[name]) ?? ""),
      row[unit],
      row[meaning],
    ]),
  };
  if (rows.length === 0) table.absent = "all parameters are the same";
  return table_card(table);
}

function facts_card(run, compared) {
  const notes = [
    ["Assumed", run.assumptions],
    ["Warnings", run.warnings],
  ].filter(([, texts]) => texts.length);
  return element(
    "section",
    { class: "card facts" },
    element("h3", {}, compared ? `${run.name} \u00b7 What was run` : "What was run"),
    element(
      "dl",
      {},
      ...Object.entries(run.facts).flatMap(([name, value]) => [
        element("dt", {}, name),
        element("dd", {}, value),
      ]),
    ),
    ...notes.flatMap(([name, texts]) => [element("h3", {}, name), list(texts)]),
  );
}

function section(id, title, ...children) {
  return element(
    "section",
    { class: "part", id, "aria-labelledby": `${id}-title` },
    element("h2", { id: `${id}-title` }, title),
    ...children,
  );
}

function chart_section(id, title, charts) {
  const cards = charts
    .filter(({ chart }) => chart.section === id)
    .map(({ file, chart }) => chart_card(chart, file));
  return section(id, title, element("div", { class: "charts" }, ...cards));
}

function nic_chooser(run) {
  if (run.nics.length < 2) return "";
  const show = (nic) => {
    for (const card of document.querySelectorAll("[data-nic]")) card.hidden = card.dataset.nic !== nic;
  };
  const chooser = element(
    "select",
    { "aria-label": "NIC of the charts by block", onchange: () => show(chooser.value) },
    ...run.nics.map((nic) => element("option", { value: nic }, `nic${nic}`)),
  );
  queueMicrotask(() => show(String(run.nics[0])));
  return element("label", { class: "nic" }, "NIC ", chooser);
}

function header(runs, parts) {
  const theme = button("\u25d0", "Light or dark", () => set_theme(is_dark() ? "light" : "dark"));
  theme.id = "theme";
  const title = runs.length === 1 ? runs[0].title : runs.map((run) => run.name).join(" / ");
  document.title = `${title} \u00b7 rxnic`;
  return element(
    "header",
    {},
    element("a", { class: "brand", href: "#verdict" }, "rxnic"),
    element("span", { class: "run", title }, title),
    element(
      "nav",
      { "aria-label": "Parts of the page" },
      ...parts.map((part) => element("a", { href: `#${part.id}` }, part.querySelector("h2").textContent)),
    ),
    nic_chooser(runs[0]),
    button("print", "Print", () => print()),
    theme,
  );
}

function page(data) {
  const { runs } = data;
  const compared = runs.length > 1;
  const charts = charts_of(runs);
  const tables = (ids) =>
    runs.flatMap((run) =>
      run.tables
        .filter((table) => ids(table.id))
        .map((table) =>
          table_card(
            compared
              ? { ...table, id: `${table.id}-${run.name}`, title: `${run.name} \u00b7 ${table.title}` }
              : table,
          ),
        ),
    );
  const parts = [
    section(
      "verdict",
      compared ? "Comparison" : "Verdict",
      element("div", { class: "verdicts" }, ...runs.map((run) => verdict_card(run, compared))),
      ...(compared ? [comparison(runs), differences(runs)] : [figure_cards(runs[0])]),
    ),
    ...kSections.map(([id, title]) => chart_section(id, title, charts)),
    section("troubles", "QPs and trouble", ...tables((id) => kTroubles.includes(id))),
    section("tables", "Tables", ...tables((id) => id.startsWith("by_"))),
    section(
      "setup",
      "Setup",
      ...runs.map((run) => facts_card(run, compared)),
      ...(compared ? [] : tables((id) => id === "configuration")),
    ),
  ].filter((part) => part.querySelector(".card"));
  document.head.append(element("style", {}, style));
  document.body.append(
    header(runs, parts),
    element("main", {}, ...parts),
    element("footer", {}, `${data.schema}; times are those of the model. Charts: Apache ECharts.`),
  );
}

let theme_before;
addEventListener("beforeprint", () => {
  theme_before = document.documentElement.dataset.theme;
  set_theme("light");
  draw_all();
});
addEventListener("afterprint", () => set_theme(theme_before));

page(JSON.parse(document.getElementById("data").textContent));
// For tests: what is drawn, and when the page could be used.
globalThis.rxnic = { drawn, draw_all };
requestAnimationFrame(() =>
  setTimeout(() => {
    globalThis.rxnic.ready_ms = performance.now();
  }),
);
