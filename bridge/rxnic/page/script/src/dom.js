// SPDX-License-Identifier: Apache-2.0
// Elements whose text is text: nothing of a run becomes HTML.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== false && value !== undefined) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

export function button(text, label, action) {
  return element("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
}

// Gives a file to the reader. The text never leaves the page.
export function download(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
