// SPDX-License-Identifier: Apache-2.0
// Compressed data as a stream: gzip (RFC 1952) and Zstandard (RFC 8878).
//
//   R1  The format is told by the first bytes of the data, whatever its file is called.
//   R2  Memory is bounded whatever the data says: 32 KiB for gzip, and 128 MiB for Zstandard. Frames of Zstandard with
//       a larger window (zstd --long=28 and above) are refused.
//   R3  Members or frames that follow one another are one stream. Zeros behind the last gzip member are padding.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "model/types/wire.h"

namespace rxnic {

class Decoder {
 public:
  virtual ~Decoder() = default;
  // Takes from `in` what it has read, and from `out` what it has written. Says what is wrong with the data, and nothing
  // when all is well; what was written before is good.
  virtual std::string decode(Bytes& in, std::span<std::uint8_t>& out) = 0;
  // Whether the data may end here.
  virtual bool complete() const = 0;
  virtual const char* format() const = 0;
};

inline constexpr std::size_t kDecoderMagicBytes = 4;
// nullptr: data with these first bytes is not compressed. Throws std::bad_alloc.
std::unique_ptr<Decoder> decoder_of(Bytes magic);

}  // namespace rxnic
