// SPDX-License-Identifier: Apache-2.0
// Numbers for people.

const kThin = "\u202f";

export function grouped(text) {
  const [whole, part] = text.split(".");
  const with_gaps = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+(?!\d))/g, kThin) : whole;
  return part === undefined ? with_gaps : `${with_gaps}.${part}`;
}

// 1234567 -> "1 234 567", 0.012345 -> "0.01235".
export function number_text(value) {
  if (value === null || value === undefined) return "";
  if (Number.isInteger(value)) return grouped(String(value));
  const digits = Math.abs(value) >= 100 ? value.toFixed(1) : String(Number(value.toPrecision(4)));
  return digits.includes("e") ? digits : grouped(digits);
}

// 12345 ns -> "12.35 us": for a figure that stands alone.
export function with_unit(value, unit) {
  const steps = { ns: ["ns", "us", "ms", "s"], us: ["us", "ms", "s"], B: ["B", "kB", "MB", "GB", "TB"] }[unit];
  if (!steps) return `${number_text(value)}${unit ? ` ${unit}` : ""}`;
  let step = 0;
  let scaled = value;
  while (Math.abs(scaled) >= 1000 && step + 1 < steps.length) {
    scaled /= 1000;
    ++step;
  }
  return `${number_text(step === 0 ? scaled : Number(scaled.toPrecision(4)))} ${steps[step]}`;
}

// The change from one figure to another one, in per cent.
export function change_text(from, to) {
  if (from === to) return "=";
  if (!from) return "";
  const change = 100 * (to / from - 1);
  return `${change > 0 ? "+" : "\u2212"}${Math.abs(change).toFixed(1)} %`;
}
