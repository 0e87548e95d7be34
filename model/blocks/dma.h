// SPDX-License-Identifier: Apache-2.0
// What blocks ask of the DMA engine, and what it answers.
#pragma once

#include <cstdint>

#include "model/types/ids.h"

namespace rxnic {

enum class DmaKind : std::uint8_t { kRead, kWrite, kFetchAdd, kCompareSwap, kSwap };

// Who asks: each client has a request link and a completion link of its own.
enum class DmaClient : std::uint8_t { kContext, kWqe, kTag, kTranslation, kCqe, kResponse, kCount };
inline constexpr std::size_t kDmaClients = static_cast<std::size_t>(DmaClient::kCount);

struct DmaRequest {
  DmaKind kind = DmaKind::kRead;
  bool told = false;         // write: the client has a completion when it has landed
  std::uint16_t cqes = 0;    // write: completions that it shows; if any, the host is told when it has landed
  std::uint32_t cookie = 0;  // returned in the completion; with cqes: the CQN
  BusAddress address{};
  std::uint32_t bytes = 0;       // > 0
  std::uint8_t* data = nullptr;  // device side; valid until the completion (read, atomic) or until accepted (write).
                                 // Atomics: receives the original value, 8 bytes; kSwap: not used
  std::uint64_t operand = 0;     // FETCH_ADD: added; COMPARE_SWAP, SWAP: swapped in
  std::uint64_t compare = 0;
};

// For reads, atomics, and writes that ask for it. Other writes are posted and have none.
struct DmaCompletion {
  std::uint32_t cookie = 0;
  bool ok = true;  // false: the memory is not mapped
};

// Completions are visible in host memory: those of one write.
struct HostNotice {
  std::uint32_t number = 0;       // CQN
  std::uint32_t completions = 0;  // more than one: compressed
};

}  // namespace rxnic
