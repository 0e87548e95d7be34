// SPDX-License-Identifier: Apache-2.0
// The data of charts and tables as CSV (RFC 4180), as scripts/plot writes them, too.

function field(value) {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv_of(rows) {
  return rows.map((row) => row.map(field).join(",") + "\n").join("");
}

function named(axis) {
  return axis.unit ? `${axis.name} (${axis.unit})` : axis.name;
}

// A row for each place or category, a column for each series. Of several runs: a row for each value.
export function chart_csv(chart) {
  if (chart.series.some((series) => series.run)) {
    const rows = [["run", "series", named(chart.x), named(chart.y)]];
    for (const series of chart.series) {
      const places = chart.x.categories ?? series.places;
      series.values.forEach((value, n) => rows.push([series.run, series.name, places[n], value]));
    }
    return csv_of(rows);
  }
  const places = chart.x.categories ?? chart.x.values;
  const head = [named(chart.x), ...chart.series.map((series) => series.name)];
  return csv_of([
    head,
    ...places.map((place, n) => [place, ...chart.series.map((series) => series.values[n])]),
  ]);
}

export function table_csv(table) {
  return csv_of([table.columns, ...table.rows]);
}
