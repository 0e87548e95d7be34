// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>

namespace rxnic {

namespace {

std::string escaped(std::string_view text) {
  std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  return out;
}

std::string paragraph(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  bool in_table = false;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string words = line.substr(indent);
    const bool row = words.find("  ") != std::string::npos;
    if (!out.empty() && indent == 0 && (row || in_table)) out += ".br\n";
    in_table = row || (in_table && indent != 0);
    out += escaped(words) + "\n";
  }
  return out;
}

std::string entry(std::string_view name, std::string_view value, const std::string& text) {
  std::string out = ".TP\n\\fB" + escaped(name) + "\\fR";
  for (const char c : escaped(value)) {
    out += c;
    if (c == ',' || c == '|' || c == ']') out += "\\:";  // R2: a place for the end of a line
  }
  return out + "\n" + paragraph(text);
}

// What the description of the program shows: "  COMMAND  what it does", one a line or in two.
std::string examples(std::istream& lines) {
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start == std::string::npos) continue;
    const std::size_t gap = start == 2 ? line.find("  ", start) : start;
    if (start == 2) out += ".TP\n.B " + escaped(line.substr(start, gap - start)) + "\n";
    if (gap != std::string::npos) out += paragraph(line.substr(line.find_first_not_of(' ', gap)));
  }
  return out;
}

std::string options_of(const CLI::App& app, const CLI::App& program) {
  const CLI::Formatter formatter;
  std::string out;
  for (const bool positional : {true, false}) {
    for (const CLI::Option* option : app.get_options()) {
      const bool help = option == app.get_help_ptr() || option == app.get_help_all_ptr();
      if (option->get_positional() != positional || (help && &app != &program)) continue;  // R1
      out += entry(formatter.make_option_name(option, positional), formatter.make_option_opts(option),
                   option->get_description());
    }
  }
  return out;
}

}  // namespace

std::string manual_page(const CLI::App& app) {
  std::istringstream about(app.get_description());
  std::string name;  // "rxnic: what it is."
  std::getline(about, name);
  const std::size_t colon = name.find(": ");
  std::string out = fmt::format(".TH RXNIC 1 \"\" \"{}\" \"User Commands\"\n.ad l\n.nh\n.SH NAME\nrxnic \\- {}\n",
                                app.version(), escaped(name.substr(colon + 2, name.size() - colon - 3)));
  out += ".SH SYNOPSIS\n.B rxnic\n[OPTION]... COMMAND [ARGUMENT]...\n.SH EXAMPLES\n" + examples(about);
  out += ".SH OPTIONS\n" + options_of(app, app) + ".SH COMMANDS\n";
  for (const CLI::App* command : app.get_subcommands({})) {
    out += fmt::format(".SS rxnic {}\n{}", command->get_name(), paragraph(command->get_description()));
    out += options_of(*command, app);
  }
  return out;
}

}  // namespace rxnic
