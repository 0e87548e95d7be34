// SPDX-License-Identifier: Apache-2.0
// A chart with its heading and what can be done with it. It is drawn when the reader comes near.
import { BarChart, LineChart } from "echarts/charts";
import {
  DataZoomComponent,
  GridComponent,
  LegendComponent,
  TitleComponent,
  TooltipComponent,
} from "echarts/components";
import * as echarts from "echarts/core";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";
import { chart_csv } from "./csv.js";
import { button, download, element } from "./dom.js";
import { height_of, option_of } from "./options.js";
import { ink, on_theme } from "./theme.js";

echarts.use([
  BarChart,
  LineChart,
  DataZoomComponent,
  GridComponent,
  LegendComponent,
  TitleComponent,
  TooltipComponent,
  CanvasRenderer,
  SVGRenderer,
]);

// Of all charts of the page, by the name of their files.
export const drawn = new Map();

const near = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) if (entry.isIntersecting) entry.target.draw();
  },
  { rootMargin: "300px" },
);

const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) target.fit?.();
});

function zooms_of(instance) {
  return instance.getOption().dataZoom?.map(({ start, end }) => ({ start, end }));
}

function export_option(chart) {
  const option = option_of(chart, false);
  const { text, panel } = ink();
  option.title = { text: chart.title, left: 8, top: 8, textStyle: { color: text, fontSize: 16 } };
  for (const part of [option.legend, option.grid, option.parallel]) if (part) part.top = (part.top ?? 0) + 36;
  option.backgroundColor = panel;
  option.dataZoom = undefined;
  return option;
}

function renderer(chart, kind) {
  const size = { width: 960, height: Math.max(420, height_of(chart) + 60) };
  if (kind === "svg") return echarts.init(null, null, { renderer: "svg", ssr: true, ...size });
  const holder = element("div", { style: `width:${size.width}px;height:${size.height}px` });
  return echarts.init(holder, null, { renderer: "canvas", ...size });
}

export function svg_of(chart) {
  const instance = renderer(chart, "svg");
  instance.setOption(export_option(chart));
  const text = instance.renderToSVGString();
  instance.dispose();
  return text;
}

async function png_of(chart) {
  const instance = renderer(chart, "canvas");
  instance.setOption(export_option(chart));
  const canvas = instance.renderToCanvas({ pixelRatio: 2, backgroundColor: ink().panel });
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  instance.dispose();
  return blob;
}

// Draws another chart in the place of one.
export function replace_chart(holder, chart, file) {
  drawn.get(file)?.dispose();
  drawn.delete(file);
  holder.replaceChildren(chart_card(chart, file));
}

export function chart_card(chart, file) {
  const head = element("h3", {}, chart.title);
  const card = element(
    "figure",
    { class: `card chart ${chart.kind}`, id: `chart-${file}`, "data-nic": chart.nic },
    element("figcaption", {}, head, element("p", {}, chart.about)),
  );
  if (chart.absent !== undefined) {
    card.classList.add("absent");
    card.append(element("p", { class: "why" }, chart.absent));
    return card;
  }
  const buttons = element(
    "div",
    { class: "actions" },
    button("CSV", `Data of ${chart.title} as CSV`, () =>
      download(`${file}.csv`, new Blob([chart_csv(chart)], { type: "text/csv" })),
    ),
    button("SVG", `${chart.title} as SVG`, () =>
      download(`${file}.svg`, new Blob([svg_of(chart)], { type: "image/svg+xml" })),
    ),
    button("PNG", `${chart.title} as PNG`, async () => download(`${file}.png`, await png_of(chart))),
  );
  if (chart.kind === "time") {
    buttons.prepend(
      button("all", `${chart.title}: the whole time`, () =>
        place.instance?.dispatchAction({ type: "dataZoom", start: 0, end: 100 }),
      ),
    );
  }
  head.after(buttons);
  const place = element("div", {
    class: "plot",
    role: "img",
    tabindex: "0",
    style: `height:${height_of(chart)}px`,
    "aria-label": `${chart.title}: ${chart.about} Series: ${chart.series.map((series) => series.name).join(", ")}`,
  });
  place.draw = () => {
    if (place.instance || !place.clientWidth) return;
    near.unobserve(place);
    place.instance = echarts.init(place);
    place.instance.setOption(option_of(chart, place.clientWidth < 480));
    if (chart.kind === "time") {
      // zoomed together, and as those that were drawn before
      const other = [...drawn.values()].find((instance) => instance.group === "time");
      if (other) place.instance.setOption({ dataZoom: zooms_of(other) });
      place.instance.group = "time";
      echarts.connect("time");
    }
    drawn.set(file, place.instance);
  };
  place.fit = () => {
    if (place.clientWidth) place.instance?.resize();
    else if (!place.instance) near.observe(place);
  };
  on_theme(() => {
    if (!place.instance) return;
    const dataZoom = zooms_of(place.instance);
    place.instance.setOption(option_of(chart, place.clientWidth < 480), true);
    if (dataZoom) place.instance.setOption({ dataZoom });
  });
  card.append(place);
  near.observe(place);
  sizes.observe(place);
  return card;
}

// For printing: charts that the reader has not seen yet.
export function draw_all() {
  for (const place of document.querySelectorAll(".plot")) {
    place.draw();
    place.fit();
  }
}
