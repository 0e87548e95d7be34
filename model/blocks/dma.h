// SPDX-License-Identifier: Apache-2.0
// What blocks ask of the DMA engine (descriptors.toml), and how many ask.
#pragma once

#include <cstddef>

#include "model/types/dma.h"

namespace rxnic {

inline constexpr std::size_t kDmaClients = static_cast<std::size_t>(DmaClient::kCount);

}  // namespace rxnic
