// SPDX-License-Identifier: Apache-2.0
// Light and dark: what the system prefers, until the reader chooses.

const prefers_dark = matchMedia("(prefers-color-scheme: dark)");
const followers = [];

export function is_dark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : prefers_dark.matches;
}

export function set_theme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  for (const follow of followers) follow();
}

export function on_theme(follow) {
  followers.push(follow);
}

prefers_dark.addEventListener("change", () => followers.forEach((follow) => follow()));

const kLight = [
  "#3b6fd4",
  "#d9822b",
  "#2f9e6e",
  "#b5489a",
  "#7a6ae0",
  "#1c9cb0",
  "#c8a415",
  "#d1495b",
  "#5f7f2e",
  "#8c6d4f",
  "#4a5d7e",
  "#e377c2",
  "#17806d",
];
const kDark = [
  "#7aa5ff",
  "#f2a45c",
  "#5fd0a0",
  "#e58ad0",
  "#aa9cff",
  "#58cfe0",
  "#e6c94d",
  "#ff8594",
  "#a3c46a",
  "#c9a580",
  "#9db2d6",
  "#f5a9df",
  "#58c9b3",
];
// Parts of a cycle stack, and other names that have a colour of their own.
const kNamed = {
  busy: ["#2f9e6e", "#4fc492"],
  blocked: ["#d1495b", "#ff7d8d"],
  starved: ["#dfe3ea", "#2c3340"],
  "in it": ["#3b6fd4", "#7aa5ff"],
  "waiting in front of it": ["#e8b14f", "#e6b95f"],
  hits: ["#2f9e6e", "#4fc492"],
  misses: ["#d9822b", "#f2a45c"],
  p50: ["#9db8ee", "#3f5c99"],
  p90: ["#6b93e2", "#5a82d6"],
  p99: ["#3b6fd4", "#7aa5ff"],
  "p99.9": ["#2a4f9c", "#a9c5ff"],
  max: ["#152c5c", "#dce8ff"],
};

export function colour_of(name, number) {
  const own = kNamed[name];
  if (own) return own[is_dark() ? 1 : 0];
  const all = is_dark() ? kDark : kLight;
  return all[number % all.length];
}

// Of the text and lines of charts.
export function ink() {
  return is_dark()
    ? { text: "#d5dbe6", faint: "#8b95a7", line: "#333b4a", panel: "#1a1f29" }
    : { text: "#27303f", faint: "#667085", line: "#e3e7ee", panel: "#ffffff" };
}
