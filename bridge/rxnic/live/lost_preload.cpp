// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/live/lost_preload.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "bridge/channel/socket.h"

namespace rxnic {

std::string LostPreload::news() {
  if (file_.empty()) return {};
  const channel::Descriptor file(::open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::array<char, 4096> bytes{};
  const ssize_t got = file ? ::read(file.get(), bytes.data(), bytes.size()) : -1;
  if (got <= 0) return {};
  std::string text(bytes.data(), static_cast<std::size_t>(got));
  const std::size_t feed = text.find('\n');
  if (feed == std::string::npos) return {};  // it is being written
  file_.clear();
  for (char& c : text) {  // (R2)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  }
  const std::string program = text.substr(0, feed), set = text.substr(feed + 1);
  return fmt::format(
      "{} was started with {}, without {}: it finds no rdma_cm and no files of its NICs, and its sockets are ordinary "
      "ones. Whoever sets LD_PRELOAD keeps what was there: LD_PRELOAD={}$LD_PRELOAD",
      program, set.empty() ? "no LD_PRELOAD" : "LD_PRELOAD=" + set, preloaded_, set.empty() ? "" : set + ":");
}

}  // namespace rxnic
