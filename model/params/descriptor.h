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
