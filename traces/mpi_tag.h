// SPDX-License-Identifier: Apache-2.0
// MPI's matching triple in a tag of 64 bits, as Open MPI packs it over UCX (ompi/mca/pml/ucx/pml_ucx_request.h):
//
//   bits 63..40  MPI's tag    24 bits; bit 63 is that of the library's own tags, which are negative
//   bits 39..20  source       20 bits, the rank in the communicator
//   bits 19..0   context      20 bits, the communicator
//
//   R1  MPI_ANY_SOURCE leaves the source's bits out of the mask. MPI_ANY_TAG leaves the tag's bits out, but for bit 63:
//       a message of a collective never matches a receive of the program.
#pragma once

#include <cstdint>

namespace rxnic {

inline constexpr unsigned kMpiContextBits = 20, kMpiSourceBits = 20, kMpiTagBits = 24;
inline constexpr std::uint64_t kMpiSourceMask = 0x000000fffff00000;
inline constexpr std::uint64_t kMpiTagMask = 0x7fffff0000000000;
inline constexpr std::uint32_t kMostMpiTag = (1u << (kMpiTagBits - 1)) - 1;
inline constexpr std::uint32_t kMostMpiSource = (1u << kMpiSourceBits) - 1;
inline constexpr std::uint32_t kMostMpiContext = (1u << kMpiContextBits) - 1;

// Precondition: none of them is above its most.
constexpr std::uint64_t mpi_tag(std::uint32_t tag, std::uint32_t source, std::uint32_t context) {
  return std::uint64_t{tag} << (kMpiSourceBits + kMpiContextBits) | std::uint64_t{source} << kMpiContextBits | context;
}

}  // namespace rxnic
