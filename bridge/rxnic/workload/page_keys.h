// SPDX-License-Identifier: Apache-2.0
// The keys of a workload's page, as a table: for reading, checking and printing.
//
//   R1  A key that acts only with some values of another key of its table says so in `needs`. "size=uniform|cdf" names
//       a choice and values of it, "load=0.0" a number as a page is printed; " and " joins several. A page that sets
//       the key otherwise is refused.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "bridge/rxnic/workload/workload_page.h"
#include "model/core/wire/impairments.h"

namespace rxnic {

// A choice is the index of its name.
using KeyValue = std::variant<std::uint64_t, double, std::string>;
enum class KeyType : std::uint8_t { kInteger, kNumber, kChoice, kText, kPackets };

struct WorkloadKey {
  std::string_view table;  // "": before the first table; "senders", "senders.mix", ...
  std::string_view key;
  KeyType type;
  std::string_view unit;  // empty for choices and texts
  double least, greatest;
  bool power_of_two;
  std::span<const std::string_view> choices;
  std::string_view sentence;
  std::string_view needs;  // R1; empty: it always acts
  KeyValue (*get)(const WorkloadPage& page, std::size_t group);
  void (*set)(WorkloadPage& page, std::size_t group, const KeyValue& value);
};

std::span<const WorkloadKey> head_keys();      // before the first table
std::span<const WorkloadKey> senders_keys();   // senders, senders.mix
std::span<const WorkloadKey> mpi_keys();       // mpi
std::span<const WorkloadKey> network_keys();   // network
std::span<const WorkloadKey> receiver_keys();  // receiver, receiver.tags
// All of them, in the order of a page. `group` of the senders' keys is the number of the table, from 0; the other keys
// ignore it.
const std::vector<const WorkloadKey*>& workload_keys();
// The tables that have keys, in the order of a page, and what each is for.
struct WorkloadTable {
  std::string_view name;
  std::string_view about;
};
std::span<const WorkloadTable> workload_tables();
bool is_of_senders(std::string_view table);
// "senders.qps"
std::string full_key(const WorkloadKey& key);
// "an integer from 1 to 4096 (QPs)"
std::string expected_value(const WorkloadKey& key);
// As a page writes it: 64, "uniform".
std::string toml_text(const WorkloadKey& key, const KeyValue& value);
// What of `needs` does not hold, as `size = "uniform" or "cdf"`; empty: the key acts.
std::string unmet_need(const WorkloadKey& key, const WorkloadPage& page, std::size_t group);

// Numbers of packets and ranges of them, "17,40-42". False: `text` is something else.
bool parse_packets(std::string_view text, std::vector<FrameRange>& out);

// The table of a page that holds a T.
template <class T>
T& table_of(WorkloadPage& page, [[maybe_unused]] std::size_t group) {
  if constexpr (std::is_same_v<T, SendersPage>) {
    return page.senders[group];
  } else if constexpr (std::is_same_v<T, SenderMix>) {
    return page.senders[group].mix;
  } else if constexpr (std::is_same_v<T, MpiPage>) {
    return page.mpi;
  } else if constexpr (std::is_same_v<T, NetworkPage>) {
    return page.network;
  } else if constexpr (std::is_same_v<T, ReceiverPage>) {
    return page.receiver;
  } else if constexpr (std::is_same_v<T, TagsPage>) {
    return page.receiver.tags;
  } else {
    static_assert(std::is_same_v<T, WorkloadPage>);
    return page;
  }
}

template <auto Member>
struct MemberOf;
template <class T, class M, M T::*Member>
struct MemberOf<Member> {
  static KeyValue get(const WorkloadPage& page, std::size_t group) {
    const M& value = table_of<T>(const_cast<WorkloadPage&>(page), group).*Member;  // is not changed
    if constexpr (std::is_enum_v<M>) {
      return static_cast<std::uint64_t>(value);
    } else {
      return value;
    }
  }
  static void set(WorkloadPage& page, std::size_t group, const KeyValue& value) {
    M& to = table_of<T>(page, group).*Member;
    if constexpr (std::is_enum_v<M>) {
      to = static_cast<M>(std::get<std::uint64_t>(value));
    } else {
      to = std::get<M>(value);
    }
  }
};

template <auto Member>
constexpr WorkloadKey ranged_key(KeyType type, std::string_view table, std::string_view key, std::string_view unit,
                                 double least, double greatest, std::string_view sentence, std::string_view needs) {
  const auto get = &MemberOf<Member>::get;
  const auto set = &MemberOf<Member>::set;
  return {table, key, type, unit, least, greatest, false, {}, sentence, needs, get, set};
}
template <auto Member>
constexpr WorkloadKey integer_key(std::string_view table, std::string_view key, std::string_view unit, double least,
                                  double greatest, std::string_view sentence, std::string_view needs = "") {
  return ranged_key<Member>(KeyType::kInteger, table, key, unit, least, greatest, sentence, needs);
}
template <auto Member>
constexpr WorkloadKey number_key(std::string_view table, std::string_view key, std::string_view unit, double least,
                                 double greatest, std::string_view sentence, std::string_view needs = "") {
  return ranged_key<Member>(KeyType::kNumber, table, key, unit, least, greatest, sentence, needs);
}
template <auto Member>
constexpr WorkloadKey choice_key(std::string_view table, std::string_view key,
                                 std::span<const std::string_view> choices, std::string_view sentence,
                                 std::string_view needs = "") {
  return {table,
          key,
          KeyType::kChoice,
          "",
          0,
          static_cast<double>(choices.size() - 1),
          false,
          choices,
          sentence,
          needs,
          &MemberOf<Member>::get,
          &MemberOf<Member>::set};
}
template <auto Member>
constexpr WorkloadKey text_key(KeyType type, std::string_view table, std::string_view key, std::string_view sentence,
                               std::string_view needs = "") {
  return {table, key, type, "", 0, 0, false, {}, sentence, needs, &MemberOf<Member>::get, &MemberOf<Member>::set};
}

}  // namespace rxnic
