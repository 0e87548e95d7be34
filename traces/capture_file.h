// SPDX-License-Identifier: Apache-2.0
// The bytes of a capture, decompressed where they are compressed (decoder.h), from the first to the last.
//
//   R1  Memory does not depend on the length of the file, nor on what it is decompressed to.
//   R2  Compressed data that ends early or is damaged gives the bytes before that, then ends, and damage() says why.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "traces/decoder.h"

namespace rxnic {

class CaptureFile {
 public:
  // A file that can be sought in; it is closed in the end.
  explicit CaptureFile(std::FILE* file);
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;
  ~CaptureFile() = default;

  // The next bytes. Fewer than there is room for: the data ends.
  std::size_t read(std::span<std::uint8_t> to);
  // Gives back the bytes that were read last: they are read again.
  void unread(Bytes bytes);
  // As the reader above gives the bytes, for a library that reads a FILE. The caller closes it, before this object
  // goes.
  std::FILE* stream();

  bool compressed() const { return decoder_ != nullptr; }
  const std::string& damage() const { return damage_; }  // R2; empty: none so far
  std::uint64_t size() const { return size_; }           // of the file, as it is
  std::uint64_t position() const;                        // likewise; how much was read

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::size_t from_file(std::span<std::uint8_t> to);
  std::size_t produce(std::span<std::uint8_t> to);

  std::unique_ptr<std::FILE, Closer> file_;
  std::unique_ptr<Decoder> decoder_;
  std::uint64_t size_ = 0;
  std::uint64_t taken_ = 0;  // bytes of the file
  std::vector<std::uint8_t> packed_;
  Bytes input_;                      // of packed_: not decompressed yet
  std::vector<std::uint8_t> ready_;  // to be read
  std::size_t at_ = 0, end_ = 0;     // of what is left of ready_
  std::string damage_;
};

}  // namespace rxnic
