// SPDX-License-Identifier: Apache-2.0
// What params.toml says about each parameter, as a table: for loading, checking and printing. The table is generated.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/params/params.h"

namespace rxnic {

enum class ParamType : std::uint8_t { kU32, kU64, kBool, kEnum };
enum class ParamKind : std::uint8_t { kWidth, kDepth, kLatency, kPolicy };
enum class ParamEvidence : std::uint8_t { kDocumented, kMeasured, kAssumed };
inline constexpr std::string_view kEvidenceNames[] = {"documented", "measured", "assumed"};

// What a run has, of which a parameter may say that it acts only with it (acts_in).
enum class RunFeature : std::uint8_t {
  kAny,
  kCapture,
  kPrograms,
  kSwitch,
  kMarked,
  kSrqLayout,
  kLinkedList,
  kCyclic,
  kTagMatching,
  kTags,
  kCompression,
  kArmed,
  kSeveralCqs,
  kNone
};
inline constexpr std::string_view kRunFeatureNames[] = {
    "any",    "capture",      "programs", "switch",      "marked", "srq_layout",  "linked_list",
    "cyclic", "tag_matching", "tags",     "compression", "armed",  "several_cqs", "none"};

struct ParamDescriptor {
  std::string_view section;
  std::string_view key;
  ParamType type;
  std::string_view unit;  // empty for bool and enum
  std::uint64_t least;    // both limits are allowed; of an enum they are indices into `values`
  std::uint64_t greatest;
  bool power_of_two;
  std::uint64_t default_value;
  std::span<const std::string_view> values;  // an enum's names, in the order of its C++ type
  ParamKind kind;
  std::string_view sentence;
  ParamEvidence evidence;
  std::string_view source;
  RunFeature acts_in;          // kAny: it acts in every run; kNone: in none that rxnic can make
  std::string_view otherwise;  // why it cannot act in others
  std::string_view needs;      // values of other parameters without which it does not act: params.toml; empty: none
  std::uint64_t (*get)(const Params&);
  void (*set)(Params&, std::uint64_t);  // does not check
};

struct ParamSection {
  std::string_view name;  // a block's stem, as in Params
  std::string_view about;
};

// In the order of params.toml: the parameters of a section stand together.
std::span<const ParamDescriptor> param_descriptors();
std::span<const ParamSection> param_sections();

}  // namespace rxnic
