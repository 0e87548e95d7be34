// SPDX-License-Identifier: Apache-2.0
#include "traces/capture_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace rxnic {
namespace {
constexpr std::size_t kReadBytes = std::size_t{1} << 16;
}

CaptureFile::CaptureFile(std::FILE* file) : file_(file), ready_(kReadBytes) {
  std::fseek(file, 0, SEEK_END);
  size_ = static_cast<std::uint64_t>(std::max(std::ftell(file), 0L));
  std::rewind(file);
  std::array<std::uint8_t, kDecoderMagicBytes> magic{};
  const std::size_t got = std::fread(magic.data(), 1, magic.size(), file);
  std::rewind(file);
  decoder_ = decoder_of(Bytes(magic).first(got));
  if (decoder_) packed_.resize(kReadBytes);
}

std::size_t CaptureFile::from_file(std::span<std::uint8_t> to) {
  const std::size_t got = std::fread(to.data(), 1, to.size(), file_.get());
  taken_ += got;
  if (got < to.size() && std::ferror(file_.get()) && damage_.empty()) damage_ = std::strerror(errno);
  return got;
}

// Some bytes, decompressed where that is necessary. None: the data ends.
std::size_t CaptureFile::produce(std::span<std::uint8_t> to) {
  if (!decoder_) return from_file(to);
  std::span<std::uint8_t> room = to;
  while (room.size() == to.size() && damage_.empty()) {
    if (input_.empty()) input_ = Bytes(packed_).first(from_file(packed_));
    const bool file_ended = input_.empty();
    const std::string wrong = decoder_->decode(input_, room);  // without input, too: it may hold bytes back
    if (damage_.empty()) damage_ = wrong;
    if (!file_ended || room.size() != to.size()) continue;
    if (damage_.empty() && !decoder_->complete())
      damage_ = std::string("the ") + decoder_->format() + " data ends early";
    break;
  }
  return to.size() - room.size();
}

std::size_t CaptureFile::read(std::span<std::uint8_t> to) {
  std::size_t done = 0;
  while (done < to.size()) {
    const std::span<std::uint8_t> rest = to.subspan(done);
    if (at_ == end_ && rest.size() >= ready_.size()) {  // needs no copy
      const std::size_t got = produce(rest);
      if (got == 0) break;
      done += got;
      continue;
    }
    if (at_ == end_) {
      at_ = 0;
      end_ = produce(ready_);
      if (end_ == 0) break;
    }
    const std::size_t some = std::min(rest.size(), end_ - at_);
    std::memcpy(rest.data(), ready_.data() + at_, some);
    at_ += some;
    done += some;
  }
  return done;
}

void CaptureFile::unread(Bytes bytes) {
  std::vector<std::uint8_t> all(bytes.begin(), bytes.end());
  all.insert(all.end(), ready_.begin() + static_cast<std::ptrdiff_t>(at_),
             ready_.begin() + static_cast<std::ptrdiff_t>(end_));
  at_ = 0;
  end_ = all.size();
  all.resize(std::max(all.size(), kReadBytes));
  ready_ = std::move(all);
}

std::FILE* CaptureFile::stream() {
  cookie_io_functions_t functions{};
  functions.read = [](void* self, char* to, std::size_t bytes) {
    auto* file = static_cast<CaptureFile*>(self);
    return static_cast<ssize_t>(file->read({reinterpret_cast<std::uint8_t*>(to), bytes}));
  };
  std::FILE* stream = ::fopencookie(this, "rb", functions);
  // Nothing may be read ahead of what the library asks for.
  if (stream != nullptr) std::setvbuf(stream, nullptr, _IONBF, 0);
  return stream;
}

std::uint64_t CaptureFile::position() const { return taken_ - (decoder_ ? input_.size() : end_ - at_); }

}  // namespace rxnic
