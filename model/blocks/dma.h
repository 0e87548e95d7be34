// SPDX-License-Identifier: Apache-2.0
// The descriptors of DMA requests (descriptors.toml), and the number of the DMA engine's clients.
#pragma once

#include <cstddef>

#include "model/types/dma.h"

namespace rxnic {

inline constexpr std::size_t kDmaClients = static_cast<std::size_t>(DmaClient::kCount);

}  // namespace rxnic
