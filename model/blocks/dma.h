// SPDX-License-Identifier: Apache-2.0
// What blocks ask of the DMA engine, and who asks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/types/dma.h"

namespace rxnic {

// Who asks: each client has a request link and a completion link of its own.
enum class DmaClient : std::uint8_t { kContext, kWqe, kTag, kTranslation, kCqe, kResponse, kCount };
inline constexpr std::size_t kDmaClients = static_cast<std::size_t>(DmaClient::kCount);

}  // namespace rxnic
