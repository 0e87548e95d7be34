// SPDX-License-Identifier: Apache-2.0
// The charts of several runs in one.

function key_of(chart) {
  return `${chart.id}${chart.nic === undefined ? "" : `-nic${chart.nic}`}`;
}

// Over time a stack of each run would hide the others: their sums are shown.
function sums(chart) {
  const values = chart.x.values.map((_, n) =>
    chart.series.reduce((sum, series) => sum + (series.values[n] ?? 0), 0),
  );
  return [{ name: "all", values }];
}

function overlay(charts, runs) {
  const first = charts.find((chart) => chart.absent === undefined);
  if (!first) return charts[0];
  const categories = first.x.categories && [...new Set(charts.flatMap((chart) => chart.x?.categories ?? []))];
  const over_time = first.kind === "time" && first.stacked;
  const names = over_time
    ? ["all"]
    : [...new Set(charts.flatMap((chart) => (chart.series ?? []).map((series) => series.name)))];
  const colours = first.kind !== "bars" && runs.length * names.length <= 12;
  const all = { ...first, stacked: first.stacked && !over_time, x: { ...first.x, categories }, series: [] };
  if (over_time) all.about += " Of each run the sum.";
  charts.forEach((chart, n) => {
    if (!chart || chart.absent !== undefined) return;
    for (const series of over_time ? sums(chart) : chart.series) {
      const values = categories
        ? categories.map((category) => series.values[chart.x.categories.indexOf(category)] ?? null)
        : series.values;
      all.series.push({
        ...series,
        values,
        places: chart.x.values,
        run: runs[n].name,
        run_number: n,
        colour: colours ? n * names.length + names.indexOf(series.name) : names.indexOf(series.name),
      });
    }
  });
  return all;
}

// [{file, chart}] of a page: those of its run, or of its runs together.
export function charts_of(runs) {
  const by_key = new Map();
  runs.forEach((run, n) => {
    for (const chart of run.charts) {
      const key = key_of(chart);
      if (!by_key.has(key))
        by_key.set(
          key,
          runs.map(() => ({ ...chart, absent: "this run does not have it" })),
        );
      by_key.get(key)[n] = chart;
    }
  });
  return [...by_key].map(([file, charts]) => ({
    file,
    chart: runs.length === 1 ? charts[0] : overlay(charts, runs),
  }));
}
