// SPDX-License-Identifier: Apache-2.0
// How the program on the receiving host behaves: how it serves messages, how it learns of completions, when it posts
// tags. Plain data; the host model acts on it (model/system).
#pragma once

#include <cstdint>

namespace rxnic {

enum class ServiceTime : std::uint8_t { kFixed, kExponential };

// The program serves each received message before its buffer is posted again: a queue in front of `workers` servers.
struct ApplicationPlan {
  std::uint32_t workers = 1;
  std::uint64_t service_ps = 0;  // of a message, the mean; 0: buffers are posted again without service
  ServiceTime distribution = ServiceTime::kFixed;
};

// How the program learns of completions: it polls, or it sleeps until the event of a CQ that it has armed.
struct CompletionPlan {
  bool events = false;
  std::uint16_t moderation_count = 0;      // completions an event, at most; 0 or 1: every completion
  std::uint16_t moderation_period_us = 0;  // longest delay of an event; 0: no limit
};

enum class TagOrder : std::uint8_t { kInOrder, kReversed, kShuffled };

// What a program does with the tags of the messages to come. Shares are in parts per million, each drawn by the seed.
struct TagPolicy {
  TagOrder order = TagOrder::kInOrder;  // of posting against arrival, within a window
  std::uint32_t window = 1;             // messages
  std::uint32_t unexpected_ppm = 0;     // of the messages: their receive is posted when they have come
  std::uint32_t unexpected_lag = 0;     // messages that come before that receive is posted
  std::uint32_t any_source_ppm = 0;     // of the tags: posted without the bits of the source (mpi_tag.h)
  std::uint32_t any_tag_ppm = 0;        // of the tags: posted without the bits of MPI's tag
  std::uint32_t delete_ppm = 0;         // of the tags: deleted once they are posted, and posted again then
  std::uint32_t sync_lag = 0;           // unexpected messages that the program has seen and not reported, at most
  std::uint32_t failing_ppm = 0;        // of the appends: an operation that fails follows

  bool operator==(const TagPolicy&) const = default;
};

}  // namespace rxnic
