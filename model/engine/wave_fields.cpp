// SPDX-License-Identifier: Apache-2.0
#include "model/engine/wave_fields.h"

#include <string>
#include <utility>

#include "model/types/descriptor_bits.h"

namespace rxnic {

namespace {

constexpr unsigned kByteBits = 8;

// Elements of arrays in parentheses: viewers read square brackets as bits of a vector.
std::string wave_name(const FieldPath& at) {
  std::string name(at.field.name);
  if (at.index >= 0 && !at.field.blob) name += "(" + std::to_string(at.index) + ")";
  return name;
}

std::size_t scope_of(WaveTree& tree, std::size_t port, const FieldPath* outer) {
  return outer == nullptr ? port : tree.scope(wave_name(*outer), scope_of(tree, port, outer->outer));
}

bool begins_signal(const FieldPath& at) { return !at.field.blob || at.index == 0; }
bool ends_signal(const FieldPath& at) { return !at.field.blob || at.index + 1 == static_cast<int>(at.field.count); }

// Sets the signals from `id` on to the numbers that come one after another.
struct Setter {
  WaveFile& file;
  WaveId id;
  std::string bits;  // of a blob
  void operator()(const FieldPath& at, std::uint64_t number) {
    if (!at.field.blob) return file.set(id++, number);
    for (unsigned bit = kByteBits; bit-- > 0;) bits += static_cast<char>('0' + (number >> bit & 1));
    if (!ends_signal(at)) return;
    file.set_text(id++, bits);
    bits.clear();
  }
};

}  // namespace

WaveFields::WaveFields(WaveTree& tree, std::size_t scope, const DescriptorOperations* of) : of_(of) {
  if (of_ == nullptr) return;
  bool first = true;
  of_->for_each_number(nullptr, [&](const FieldPath& at, std::uint64_t) {
    if (!begins_signal(at)) return;
    WaveSignal signal{wave_name(at), WaveKind::kNumber, at.field.bits, at.field.hex, at.field.values};
    if (!at.field.values.empty()) signal.kind = WaveKind::kName;
    if (at.field.blob) {
      signal.kind = WaveKind::kWide;
      signal.bits = at.field.bits * at.field.count;
    }
    const WaveId id = tree.add(scope_of(tree, scope, at.outer), std::move(signal));
    if (first) first_ = id;
    first = false;
  });
}

void WaveFields::show(WaveFile& file, const void* value) const {
  if (of_ == nullptr) return;
  Setter set{file, first_, {}};
  of_->for_each_number(value, [&](const FieldPath& at, std::uint64_t number) { set(at, number); });
}

// Numbers come in the order of the fields, the first one in the most significant bits. An array is the exception: its
// first element is in its least significant bits (types/descriptor_bits.h, R1).
void WaveFields::show_bits(WaveFile& file, const std::uint32_t* bits) const {
  if (of_ == nullptr) return;
  Setter set{file, first_, {}};
  unsigned end = of_->bits;
  of_->for_each_number(nullptr, [&](const FieldPath& at, std::uint64_t) {
    end -= at.field.bits;
    int lsb = static_cast<int>(end);
    for (const FieldPath* p = &at; p != nullptr; p = p->outer) {
      const int count = static_cast<int>(p->field.count);
      if (p->index >= 0) lsb += (2 * p->index + 1 - count) * static_cast<int>(p->field.bits);
    }
    set(at, get_bits(bits, static_cast<unsigned>(lsb), at.field.bits));
  });
}

}  // namespace rxnic
