// SPDX-License-Identifier: Apache-2.0
// The page of a sweep: a figure over the axes as curves and as a heat map, all of them as parallel coordinates, and
// the points as a table. The data is what scripts/rxnic_model/sweeps/web.py says.
import { draw_all, drawn, replace_chart } from "./chart_card.js";
import { button, element } from "./dom.js";
import style from "./style.css";
import { curves, heat_map, parallel } from "./sweep_charts.js";
import { table_card } from "./table_card.js";
import { is_dark, set_theme } from "./theme.js";

function chooser(label, names, chosen, change) {
  const select = element(
    "select",
    { "aria-label": label, onchange: () => change(select.value) },
    ...names.map(([value, text]) => element("option", { value, selected: value === chosen }, text)),
  );
  return element("label", { class: "chooser" }, `${label} `, select);
}

function section(id, title, ...children) {
  return element(
    "section",
    { class: "part", id, "aria-labelledby": `${id}-title` },
    element("h2", { id: `${id}-title` }, title),
    ...children,
  );
}

// Choosers above one chart, which is drawn again when one changes. `fields` says what can be chosen.
function chart_part(id, title, state, fields, chart_of) {
  const tools = element("div", { class: "tools" });
  const holder = element("div", { class: "charts wide" });
  const show = () => {
    tools.replaceChildren(
      ...fields().map(([key, label, names]) =>
        chooser(label, names, String(state[key]), (value) => {
          state[key] = value;
          show();
        }),
      ),
    );
    replace_chart(holder, chart_of(state), id);
  };
  show();
  return section(id, title, tools, holder);
}

const texts = (names) => names.map((name) => [name, name]);

// For an axis that a chart does not show: one of its values, or the mean over them.
function fixed_fields(data, shown) {
  return data.axes
    .filter((axis) => axis.values.length > 1 && !shown.includes(axis.name))
    .map((axis) => [
      `at ${axis.name}`,
      axis.name,
      [["mean", "mean of all"], ...axis.values.map((value, n) => [String(n), String(value)])],
    ]);
}

function page(data) {
  const figures = data.figures.map((figure) => figure.name);
  const axes = data.axes.filter((axis) => axis.values.length > 1).map((axis) => axis.name);
  const start = { figure: figures[0], x: axes[0], by: axes[1] ?? "", y: axes[1] };
  for (const axis of axes) start[`at ${axis}`] = "mean";
  const parts = [];
  if (axes.length && figures.length) {
    const curve = { ...start };
    parts.push(
      chart_part(
        "curves",
        "Curves",
        curve,
        () => [
          ["figure", "figure", texts(figures)],
          ["x", "over", texts(axes)],
          ["by", "a line for each", [["", "nothing"], ...texts(axes.filter((axis) => axis !== curve.x))]],
          ...fixed_fields(data, [curve.x, curve.by]),
        ],
        (state) => curves(data, state),
      ),
    );
  }
  if (axes.length > 1 && figures.length) {
    const heat = { ...start };
    parts.push(
      chart_part(
        "heat",
        "Heat map",
        heat,
        () => [
          ["figure", "figure", texts(figures)],
          ["x", "over", texts(axes.filter((axis) => axis !== heat.y))],
          ["y", "and", texts(axes.filter((axis) => axis !== heat.x))],
          ...fixed_fields(data, [heat.x, heat.y]),
        ],
        (state) => heat_map(data, state),
      ),
    );
  }
  if (axes.length && figures.length) {
    const many = { figure: figures[0] };
    parts.push(
      chart_part(
        "parallel",
        "All axes",
        many,
        () => [["figure", "coloured by", texts(figures)]],
        (state) => parallel(data, state),
      ),
    );
  }
  const shown = data.figures.slice(0, data.shown);
  parts.push(
    section(
      "points",
      "Points",
      table_card({
        id: "points",
        title: "Points",
        about: data.words.join(" "),
        left_out: 0,
        columns: ["point", ...data.axes.map((axis) => axis.name), ...shown.map((figure) => figure.name), "error"],
        rows: data.points.map((point, n) => [
          point,
          ...data.axes.map((axis) => axis.values[axis.at[n]]),
          ...shown.map((figure) => figure.values[n]),
          data.errors[n],
        ]),
      }),
    ),
    section(
      "setup",
      "Setup",
      element(
        "section",
        { class: "card facts" },
        element("h3", {}, "What all points have"),
        element(
          "dl",
          {},
          ...Object.entries(data.constants).flatMap(([name, value]) => [
            element("dt", {}, name),
            element("dd", {}, String(value)),
          ]),
        ),
      ),
    ),
  );
  const theme = button("\u25d0", "Light or dark", () => set_theme(is_dark() ? "light" : "dark"));
  theme.id = "theme";
  document.title = `${data.title} \u00b7 rxnic`;
  document.head.append(element("style", {}, style));
  document.body.append(
    element(
      "header",
      {},
      element("a", { class: "brand", href: `#${parts[0].id}` }, "rxnic"),
      element("span", { class: "run", title: data.title }, data.title),
      element(
        "nav",
        { "aria-label": "Parts of the page" },
        ...parts.map((part) => element("a", { href: `#${part.id}` }, part.querySelector("h2").textContent)),
      ),
      button("print", "Print", () => print()),
      theme,
    ),
    element("main", {}, data.about ? element("p", { class: "about" }, data.about) : "", ...parts),
    element("footer", {}, `${data.schema}; figures are those of the model. Charts: Apache ECharts.`),
  );
}

addEventListener("beforeprint", () => draw_all());

page(JSON.parse(document.getElementById("data").textContent));
// For tests: what is drawn, and when the page could be used.
globalThis.rxnic = { drawn, draw_all };
requestAnimationFrame(() =>
  setTimeout(() => {
    globalThis.rxnic.ready_ms = performance.now();
  }),
);
