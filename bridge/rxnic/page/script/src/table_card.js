// SPDX-License-Identifier: Apache-2.0
// A table that is sorted by any column and filtered by text, some rows at a time.
import { table_csv } from "./csv.js";
import { button, download, element } from "./dom.js";
import { number_text } from "./numbers.js";

const kRows = 25;
const kHexadecimal = new Set(["qp", "psn"]);

function shown(column, value) {
  if (value === null || value === undefined || value === "") return "";
  if (typeof value !== "number") return String(value);
  return kHexadecimal.has(column) ? `0x${value.toString(16)}` : number_text(value);
}

function says_something(table, n) {
  return table.rows.some((row) => row[n] !== 0 && row[n] !== "" && row[n] !== null);
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a ?? "").localeCompare(String(b ?? ""), "en", { numeric: true });
}

export function table_card(table, options = {}) {
  const card = element("section", { class: "card table", id: `table-${table.id}` });
  const head = element("h3", {}, table.title);
  card.append(head, table.about ? element("p", {}, table.about) : "");
  if (table.absent !== undefined) {
    card.classList.add("absent");
    card.append(element("p", { class: "why" }, table.absent));
    return card;
  }
  const state = { sort: -1, down: true, filter: options.filter ?? "", page: 0, all_columns: false };
  const texts = table.rows.map((row) =>
    row
      .map((value, n) => shown(table.columns[n], value))
      .join(" ")
      .toLowerCase(),
  );
  const useful = table.columns.map((_, n) => says_something(table, n));
  const filter = element("input", {
    type: "search",
    placeholder: "filter",
    "aria-label": `Filter ${table.title}`,
    value: state.filter,
    oninput: () => show({ filter: filter.value, page: 0 }),
  });
  const all_columns = element("input", {
    type: "checkbox",
    onchange: () => show({ all_columns: all_columns.checked }),
  });
  const status = element("span", { class: "status", role: "status" });
  const previous = button("\u2039", "Previous rows", () => show({ page: state.page - 1 }));
  const next = button("\u203a", "Next rows", () => show({ page: state.page + 1 }));
  const body = element("tbody");
  const header = element("tr");
  const caption = element("caption", {}, table.title);
  const csv = button("CSV", `${table.title} as CSV`, () =>
    download(`${table.id}.csv`, new Blob([table_csv(table)], { type: "text/csv" })),
  );
  head.after(element("div", { class: "actions" }, csv));
  const few = table.rows.length <= 8;
  const hides = useful.includes(false);
  card.append(
    element(
      "div",
      { class: "tools" },
      few ? "" : filter,
      hides ? element("label", {}, all_columns, " columns without values") : "",
      element(
        "span",
        { class: "pages" },
        status,
        table.rows.length > kRows ? previous : "",
        table.rows.length > kRows ? next : "",
      ),
    ),
    element(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": table.title },
      element("table", {}, caption, element("thead", {}, header), body),
    ),
  );

  function rows() {
    const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
    let found = table.rows.map((_, n) => n).filter((n) => words.every((word) => texts[n].includes(word)));
    if (state.sort >= 0) {
      const sign = state.down ? -1 : 1;
      found = found.sort(
        (a, b) => sign * compare(table.rows[a][state.sort], table.rows[b][state.sort]) || a - b,
      );
    }
    return found;
  }

  function sort_by(n) {
    const numbers = typeof table.rows[0]?.[n] === "number";
    show({ sort: n, down: state.sort === n ? !state.down : numbers, page: 0 });
  }

  function show(change) {
    Object.assign(state, change);
    const found = rows();
    const pages = Math.max(1, Math.ceil(found.length / kRows));
    state.page = Math.min(Math.max(state.page, 0), pages - 1);
    const columns = table.columns.map((_, n) => n).filter((n) => useful[n] || state.all_columns);
    header.replaceChildren(
      ...columns.map((n) =>
        element(
          "th",
          { scope: "col", "aria-sort": state.sort === n ? (state.down ? "descending" : "ascending") : "none" },
          button(
            table.columns[n].replaceAll("_", " "),
            `Sort by ${table.columns[n].replaceAll("_", " ")}`,
            () => sort_by(n),
          ),
        ),
      ),
    );
    body.replaceChildren(
      ...found.slice(state.page * kRows, (state.page + 1) * kRows).map((row) =>
        element(
          "tr",
          {},
          ...columns.map((n) => {
            const value = table.rows[row][n];
            return element(
              "td",
              { class: typeof value === "number" ? "number" : "text" },
              shown(table.columns[n], value),
            );
          }),
        ),
      ),
    );
    const first = found.length === 0 ? 0 : state.page * kRows + 1;
    const more = table.left_out ? `, ${number_text(table.left_out)} more in the run` : "";
    status.textContent = few
      ? ""
      : `${number_text(first)} to ${number_text(Math.min(found.length, first + kRows - 1))} of ${number_text(
          found.length,
        )}${found.length < table.rows.length ? ` (of ${number_text(table.rows.length)})` : ""}${more}`;
    previous.disabled = state.page === 0;
    next.disabled = state.page + 1 >= pages;
  }
  show({});
  return card;
}
