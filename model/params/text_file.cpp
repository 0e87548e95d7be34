// SPDX-License-Identifier: Apache-2.0
#include "model/params/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace rxnic {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 16;

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

std::FILE* open_to_read(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return nullptr;
  // What is read is waited for: the writer of a pipe may be slow.
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  std::FILE* const file = fdopen(descriptor, "rb");
  if (file == nullptr) close(descriptor);
  return file;
}

std::string read_text_file(const std::filesystem::path& path, std::size_t most_bytes) {
  const std::unique_ptr<std::FILE, Closer> file(open_to_read(path));
  if (!file) throw std::runtime_error(std::strerror(errno));
  std::string text;
  while (text.size() <= most_bytes) {
    const std::size_t before = text.size();
    text.resize(before + std::min(kChunkBytes, most_bytes + 1 - before));
    errno = 0;
    const std::size_t got = std::fread(text.data() + before, 1, text.size() - before, file.get());
    text.resize(before + got);
    if (std::ferror(file.get()) != 0) throw std::runtime_error(std::strerror(errno == 0 ? EIO : errno));
    if (got == 0) return text;
  }
  throw std::runtime_error("more than " + std::to_string(most_bytes) + " bytes");
}

}  // namespace rxnic
