// SPDX-License-Identifier: Apache-2.0
// A chart of the data as an option of ECharts.
import { number_text } from "./numbers.js";
import { colour_of, ink } from "./theme.js";

const kMostLines = 5;

// Ctrl and the wheel: without the key the page scrolls.
const kInsideZoom = {
  type: "inside",
  zoomOnMouseWheel: "ctrl",
  moveOnMouseMove: false,
  moveOnMouseWheel: false,
  preventDefaultMouseMove: false,
  filterMode: "none",
};

export function axis_style() {
  const { faint, line } = ink();
  return {
    nameTextStyle: { color: faint },
    axisLabel: { color: faint, hideOverlap: true },
    axisLine: { lineStyle: { color: line } },
    axisTick: { show: false },
    splitLine: { lineStyle: { color: line } },
  };
}

function named(axis) {
  return axis.unit || axis.name;
}

export function common(chart, compact) {
  const { text, faint, line, panel } = ink();
  return {
    animation: false,
    textStyle: { fontFamily: "system-ui, sans-serif" },
    legend: {
      type: "scroll",
      top: 0,
      left: 0,
      right: 0,
      itemWidth: 12,
      itemHeight: 8,
      textStyle: { color: text },
      pageTextStyle: { color: faint },
      pageIconColor: text,
      inactiveColor: line,
    },
    tooltip: {
      trigger: "axis",
      confine: true,
      backgroundColor: panel,
      borderColor: line,
      textStyle: { color: text, fontSize: 12 },
      valueFormatter: (value) =>
        value === null || value === undefined ? "\u2013" : `${number_text(value)} ${chart.y.unit}`,
      order: chart.stacked ? "seriesDesc" : "seriesAsc",
      axisPointer: { lineStyle: { color: faint } },
    },
    grid: { left: 8, right: compact ? 12 : 24, top: 44, bottom: 8, containLabel: true },
  };
}

// Series of a run: of the second one and later ones the lines are dashed.
function line_style(series) {
  return { width: 1.6, type: ["solid", "dashed", "dotted"][(series.run_number ?? 0) % 3] };
}

function shown(series) {
  return series.run ? `${series.run}: ${series.name}` : series.name;
}

function colour(series, number) {
  return colour_of(series.name, series.colour ?? number);
}

// Of many lines those that say most are shown at first; the legend shows the others.
function selected(chart) {
  if (chart.stacked || chart.series.length <= kMostLines) return {};
  const sum = (series) => series.values.reduce((all, value) => all + (value ?? 0), 0);
  const order = [...chart.series].sort((a, b) => sum(b) - sum(a));
  return Object.fromEntries(order.map((series, n) => [shown(series), n < kMostLines]));
}

function over_time(chart, compact) {
  const option = common(chart, compact);
  option.grid.bottom = 52;
  option.xAxis = {
    type: "value",
    min: "dataMin",
    max: "dataMax",
    name: named(chart.x),
    nameLocation: "end",
    nameGap: 4,
    ...axis_style(),
    axisLabel: { color: ink().faint, hideOverlap: true, formatter: number_text },
    splitLine: { show: false },
  };
  option.xAxis.nameTextStyle = {
    color: ink().faint,
    align: "right",
    verticalAlign: "top",
    padding: [20, 0, 0, 0],
  };
  option.yAxis = {
    type: "value",
    name: named(chart.y),
    min: 0,
    ...axis_style(),
    nameTextStyle: { color: ink().faint, align: "left" },
  };
  option.yAxis.axisLabel.formatter = number_text;
  if (chart.y.unit === "%") option.yAxis.max = 100;
  option.legend.selected = selected(chart);
  option.grid.top = 58;
  option.yAxis.nameGap = 10;
  option.dataZoom = [
    kInsideZoom,
    {
      type: "slider",
      height: 18,
      bottom: 8,
      filterMode: "none",
      borderColor: ink().line,
      showDetail: false,
      brushSelect: true,
      textStyle: { color: ink().faint },
      labelFormatter: (value) => number_text(Math.round(value)),
    },
  ];
  option.series = chart.series.map((series, n) => ({
    type: "line",
    name: shown(series),
    showSymbol: false,
    step: "end",
    color: colour(series, n),
    lineStyle: line_style(series),
    ...(chart.stacked
      ? { stack: series.run ?? "all", areaStyle: { opacity: 0.85 }, lineStyle: { width: 0 } }
      : {}),
    data: series.values.map((value, i) => [(series.places ?? chart.x.values)[i], value]),
  }));
  return option;
}

function over_categories(chart, compact) {
  const option = common(chart, compact);
  option.tooltip.axisPointer = { type: "shadow" };
  option.xAxis = {
    type: "value",
    name: "",
    min: 0,
    ...axis_style(),
    axisLabel: {
      color: ink().faint,
      hideOverlap: true,
      formatter: (value) => `${number_text(value)} ${chart.y.unit}`,
    },
  };
  if (chart.y.unit === "%") option.xAxis.max = 100;
  option.yAxis = {
    type: "category",
    inverse: true,
    data: chart.x.categories,
    ...axis_style(),
    axisLabel: { color: ink().text, width: compact ? 96 : 170, overflow: "truncate" },
    splitLine: { show: false },
  };
  option.grid.top = 36;
  option.series = chart.series.map((series, n) => ({
    type: "bar",
    name: shown(series),
    color: colour(series, n),
    data: series.values,
    barMaxWidth: 18,
    ...(chart.stacked ? { stack: series.run ?? "all" } : { barGap: "10%" }),
    ...(series.run_number ? { itemStyle: { opacity: 1 / (1 + 0.6 * series.run_number) } } : {}),
  }));
  return option;
}

function distribution(chart, compact) {
  const option = common(chart, compact);
  option.tooltip.trigger = "item";
  option.tooltip.formatter = ({ seriesName, value: [time, share] }) => {
    const name = seriesName.replaceAll("<", "&lt;");
    return `${number_text(share)} % of ${name} take at most ${number_text(time)} ${chart.y.unit}`;
  };
  option.grid.bottom = 52;
  option.grid.top = 58;
  const times = chart.series.flatMap((series) => series.values.filter((value) => value > 0));
  option.xAxis = {
    type: "log",
    min: Math.max(1, Math.min(...times)),
    max: Math.max(2, ...times),
    ...axis_style(),
    axisLabel: {
      color: ink().faint,
      hideOverlap: true,
      formatter: (value) => `${number_text(value)} ${chart.y.unit}`,
    },
  };
  option.yAxis = { type: "value", name: "% of the messages", min: 0, max: 100, ...axis_style() };
  option.yAxis.nameTextStyle = { color: ink().faint, align: "left" };
  option.dataZoom = [
    kInsideZoom,
    { type: "slider", height: 18, bottom: 8, filterMode: "none", borderColor: ink().line, showDetail: false },
  ];
  option.series = chart.series.map((series, n) => ({
    type: "line",
    name: shown(series),
    showSymbol: false,
    color: colour(series, n),
    lineStyle: line_style(series),
    data: series.values.map((value, i) => [Math.max(value, 1), (series.places ?? chart.x.values)[i]]),
  }));
  return option;
}

const kKinds = { time: over_time, bars: over_categories, cdf: distribution };

// Another kind of chart, for a page that has it.
export function add_kind(name, option) {
  kKinds[name] = option;
}

export function option_of(chart, compact) {
  return kKinds[chart.kind](chart, compact);
}

// Pixels: bars need some for each category.
export function height_of(chart) {
  if (chart.height) return chart.height;
  if (chart.kind !== "bars") return 300;
  const bars = chart.stacked ? 1 : Math.min(chart.series.length, 6);
  return Math.max(180, 80 + chart.x.categories.length * (14 + 9 * bars));
}
