// SPDX-License-Identifier: Apache-2.0
// Loops over counters. counters.toml describes each counter; generate.py makes from it the structs, and a
// specialisation of Counters for each struct.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace rxnic {

struct CounterInfo {
  std::string_view key;  // in the report
  std::string_view unit;
  std::string_view sentence;
  bool high_water = false;  // the greatest value seen, not a count
};

// Specialised for each struct of counters:
//   kSection, kSentence  the block or part that counts, and what it does
//   kReport              their place in report.json: "blocks.rx_parser.counters"
//   kAll                 one CounterInfo a counter; a counter of an enumeration has one a value
//   for_each(f, c...)    f(kAll[i], c.member...) for each, the members of all objects c
template <class C>
struct Counters {};
template <class C>
concept Counted = requires {
  Counters<C>::kAll;
};

// What was counted since `before`, the same counters at an earlier time; a high-water mark stays as it is.
template <Counted C>
constexpr C operator-(C now, const C& before) {
  Counters<C>::for_each(
      [](const CounterInfo& info, std::uint64_t& n, const std::uint64_t& earlier) {
        if (!info.high_water) n -= earlier;
      },
      now, before);
  return now;
}

// A counter by its key; nullptr: there is none.
template <Counted C>
std::uint64_t* counter_of(C& counters, std::string_view key) {
  std::uint64_t* found = nullptr;
  Counters<C>::for_each(
      [&](const CounterInfo& info, std::uint64_t& n) {
        if (info.key == key) found = &n;
      },
      counters);
  return found;
}

// Is called with the key and the value of a counter.
using CounterVisitor = std::function<void(std::string_view key, std::uint64_t value)>;
template <Counted C>
void visit_each(const CounterVisitor& visit, const C& counters) {
  Counters<C>::for_each([&](const CounterInfo& info, std::uint64_t n) { visit(info.key, n); }, counters);
}

}  // namespace rxnic
