// SPDX-License-Identifier: Apache-2.0
#include "model/types/descriptor_text.h"

#include <fmt/format.h>

#include <cstdio>

namespace rxnic {

std::string text_of(const FieldPath& path) {
  std::string text = path.outer == nullptr ? "" : text_of(*path.outer) + ".";
  text += path.field.name;
  if (path.index >= 0) text += fmt::format("[{}]", path.index);
  return text;
}

std::string value_text(const FieldInfo& field, std::uint64_t number) {
  for (const EnumeratorInfo& e : field.values) {
    if (e.value == number) return std::string(e.name);
  }
  return field.hex ? fmt::format("{:#x}", number) : fmt::format("{}", number);
}

namespace detail {

void append_bytes(std::string& out, std::span<const std::uint8_t> bytes) {
  for (const std::uint8_t byte : bytes) out += fmt::format("{:02x}", byte);
}

void FirstDifference::operator()(const FieldPath& at, std::uint64_t x, std::uint64_t y) {
  if (!text.empty() || x == y) return;
  text = fmt::format("{}: {} and {}", text_of(at), value_text(at.field, x), value_text(at.field, y));
}

void FirstMisfit::operator()(const FieldPath& at, std::uint64_t number) {
  if (!text.empty() || fits(at.field, number)) return;
  text = fmt::format("{}: {} has more than {} bits", text_of(at), value_text(at.field, number), at.field.bits);
}

void report_misfit(std::string_view where, std::string_view type, const std::string& misfit) {
  std::fputs(fmt::format("{}: {}: {}\n", where, type, misfit).c_str(), stderr);
}

}  // namespace detail

}  // namespace rxnic
