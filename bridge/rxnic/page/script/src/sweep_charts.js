// SPDX-License-Identifier: Apache-2.0
// The charts of a sweep's page: data of charts, as those of a run, and how ECharts draws them.
import { HeatmapChart, ParallelChart } from "echarts/charts";
import { ParallelComponent, VisualMapComponent } from "echarts/components";
import * as echarts from "echarts/core";
import { number_text } from "./numbers.js";
import { add_kind, axis_style, common } from "./options.js";
import { colour_of, ink, is_dark } from "./theme.js";

echarts.use([HeatmapChart, ParallelChart, ParallelComponent, VisualMapComponent]);

const kMostLines = 40;
const kShades = [
  ["#eaf1ff", "#9bbcf5", "#3b6fd4", "#2b3f8f", "#1a1f4d"],
  ["#1d2738", "#28467f", "#3f75d6", "#7aa5ff", "#e4edff"],
];

function axis_of(data, name) {
  return data.axes.find((axis) => axis.name === name);
}

function figure_of(data, name) {
  return data.figures.find((figure) => figure.name === name);
}

// Means of a figure over points: mean[at x][at y], of those points that have the values of `state`.
function means(data, state, x, y) {
  const figure = figure_of(data, state.figure);
  const fixed = data.axes.filter((axis) => axis !== x && axis !== y && /^\d+$/.test(state[`at ${axis.name}`]));
  const sums = x.values.map(() => (y ? y.values : [0]).map(() => [0, 0]));
  data.points.forEach((_, n) => {
    const value = figure.values[n];
    if (typeof value !== "number" || fixed.some((axis) => axis.at[n] !== Number(state[`at ${axis.name}`]))) return;
    const sum = sums[x.at[n]][y ? y.at[n] : 0];
    sum[0] += value;
    sum[1] += 1;
  });
  return sums.map((row) => row.map(([sum, count]) => (count ? sum / count : null)));
}

function about(data, state, figure, shown) {
  const others = data.axes.filter((axis) => axis.values.length > 1 && !shown.includes(axis));
  const at = others.map((axis) => {
    const value = state[`at ${axis.name}`];
    return /^\d+$/.test(value) ? `${axis.name} = ${axis.values[value]}` : `mean over ${axis.name}`;
  });
  return [figure.sentence, at.length ? `${at.join(", ")}.` : ""].filter(Boolean).join(" ");
}

export function curves(data, state) {
  const x = axis_of(data, state.x);
  const by = state.by && state.by !== state.x ? axis_of(data, state.by) : undefined;
  const figure = figure_of(data, state.figure);
  const mean = means(data, state, x, by);
  const lines = (by ? by.values : [figure.name]).slice(0, kMostLines);
  return {
    kind: "curves",
    id: "curves",
    height: 420,
    title: `${figure.name} over ${x.name}`,
    about: about(data, state, figure, [x, by]),
    x: {
      name: x.name,
      unit: x.unit,
      categories: x.values.map(String),
      numbers: x.numeric ? x.values : undefined,
      log: x.log,
    },
    y: { name: figure.name, unit: figure.unit },
    series: lines.map((value, n) => ({
      name: by ? `${by.name} ${value}` : figure.name,
      values: mean.map((row) => row[n]),
    })),
  };
}

export function heat_map(data, state) {
  const [x, y] = [axis_of(data, state.x), axis_of(data, state.y)];
  const figure = figure_of(data, state.figure);
  const mean = means(data, state, x, y);
  return {
    kind: "heat",
    id: "heat",
    height: Math.min(760, Math.max(320, 140 + 26 * y.values.length)),
    title: `${figure.name} over ${x.name} and ${y.name}`,
    about: about(data, state, figure, [x, y]),
    x: { name: x.name, unit: x.unit, categories: x.values.map(String) },
    y: { name: figure.name, unit: figure.unit, axis: y.name },
    series: y.values.map((value, n) => ({ name: String(value), values: mean.map((row) => row[n]) })),
  };
}

export function parallel(data, state) {
  const axes = data.axes.filter((axis) => axis.values.length > 1);
  const shown = data.figures.slice(0, data.shown);
  const chosen = figure_of(data, state.figure);
  const figures = shown.includes(chosen) ? shown : [...shown, chosen];
  return {
    kind: "parallel",
    id: "parallel",
    height: 460,
    title: "Each point as a line",
    about: "Drag along an axis to choose a part of it; the other points fade.",
    x: { name: "point", unit: "", values: data.points },
    y: { name: "", unit: "" },
    coloured: axes.length + figures.indexOf(chosen),
    dimensions: [
      ...axes.map((axis) => ({
        name: axis.name,
        categories: axis.numeric ? undefined : axis.values.map(String),
        log: axis.log,
      })),
      ...figures.map((figure) => ({ name: figure.name })),
    ],
    series: [
      ...axes.map((axis) => ({ name: axis.name, values: axis.at.map((at) => axis.values[at]) })),
      ...figures.map((figure) => ({ name: figure.name, values: figure.values })),
    ],
  };
}

function with_name(style, name) {
  return { ...style, name, nameLocation: "middle", nameGap: 30, nameTextStyle: { color: ink().text } };
}

function curves_option(chart, compact) {
  const option = common(chart, compact);
  const { numbers, log, categories } = chart.x;
  const style = axis_style();
  style.axisLabel = { ...style.axisLabel, ...(numbers ? { formatter: number_text } : {}) };
  const name = chart.x.unit ? `${chart.x.name} (${chart.x.unit})` : chart.x.name;
  option.grid.bottom = 34;
  option.xAxis = with_name(
    { ...style, type: numbers ? (log ? "log" : "value") : "category", splitLine: { show: false } },
    name,
  );
  if (numbers) Object.assign(option.xAxis, { min: Math.min(...numbers), max: Math.max(...numbers) });
  else option.xAxis.data = categories;
  option.yAxis = { type: "value", name: chart.y.unit || chart.y.name, ...axis_style() };
  option.yAxis.nameTextStyle = { color: ink().faint, align: "left" };
  option.yAxis.axisLabel.formatter = number_text;
  option.series = chart.series.map((series, n) => ({
    type: "line",
    name: series.name,
    color: colour_of(series.name, n),
    symbolSize: 6,
    connectNulls: true,
    data: series.values.map((value, i) => [numbers ? numbers[i] : categories[i], value]),
  }));
  return option;
}

function shades(chart, values, more) {
  const numbers = values.filter((value) => typeof value === "number");
  return {
    type: "continuous",
    min: Math.min(...numbers),
    max: Math.max(...numbers),
    calculable: true,
    inRange: { color: kShades[is_dark() ? 1 : 0] },
    textStyle: { color: ink().faint },
    formatter: (value) => number_text(Number(value.toPrecision(4))),
    ...more,
  };
}

function heat_option(chart, compact) {
  const option = common(chart, compact);
  delete option.legend;
  const style = axis_style();
  option.grid = { left: 12, right: compact ? 70 : 120, top: 34, bottom: 34, containLabel: true };
  option.tooltip = {
    ...option.tooltip,
    trigger: "item",
    formatter: ({ value: [x, y, value] }) =>
      [
        `${chart.x.name} ${chart.x.categories[x]}, ${chart.y.axis} ${chart.series[y].name}`,
        `${number_text(value)} ${chart.y.unit}`,
      ]
        .map((line) => line.replaceAll("&", "&amp;").replaceAll("<", "&lt;"))
        .join("<br>"),
  };
  option.xAxis = with_name(
    { ...style, type: "category", data: chart.x.categories, splitLine: { show: false } },
    chart.x.name,
  );
  option.yAxis = {
    ...axis_style(),
    type: "category",
    data: chart.series.map((series) => series.name),
    name: chart.y.axis,
    nameTextStyle: { color: ink().text, align: "left" },
    splitLine: { show: false },
  };
  option.visualMap = shades(
    chart,
    chart.series.flatMap((series) => series.values),
    { orient: "vertical", right: 0, top: "middle", itemHeight: 140 },
  );
  option.series = [
    {
      type: "heatmap",
      data: chart.series.flatMap((series, y) =>
        series.values.flatMap((value, x) => (value === null ? [] : [[x, y, value]])),
      ),
    },
  ];
  return option;
}

function parallel_option(chart, compact) {
  const option = common(chart, compact);
  const { text, faint, line } = ink();
  delete option.legend;
  delete option.grid;
  option.tooltip = { show: false };
  option.parallel = { left: compact ? 70 : 120, right: compact ? 60 : 120, top: 60, bottom: 76 };
  option.parallelAxis = chart.dimensions.map((one, dim) => ({
    dim,
    name: one.name,
    nameRotate: 0,
    nameTextStyle: { color: text, fontSize: 11, width: 150, overflow: "break" },
    axisLine: { lineStyle: { color: faint } },
    axisTick: { lineStyle: { color: line } },
    axisLabel: { color: faint, ...(one.categories ? {} : { formatter: number_text }) },
    splitLine: { show: false },
    ...(one.categories
      ? { type: "category", data: one.categories }
      : { type: one.log ? "log" : "value", scale: true }),
  }));
  option.visualMap = shades(chart, chart.series[chart.coloured].values, {
    dimension: chart.coloured,
    orient: "horizontal",
    left: "center",
    bottom: 0,
    itemHeight: 180,
  });
  option.series = [
    {
      type: "parallel",
      lineStyle: { width: 1.2, opacity: 0.6 },
      inactiveOpacity: 0.04,
      data: chart.x.values
        .map((_, n) => chart.series.map((series) => series.values[n]))
        .filter((row) => row.every((value) => value !== null)),
    },
  ];
  return option;
}

add_kind("curves", curves_option);
add_kind("heat", heat_option);
add_kind("parallel", parallel_option);
