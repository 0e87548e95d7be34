// SPDX-License-Identifier: Apache-2.0
// What rxnic and a simulator of SystemVerilog say to each other about the pins of a module.
//
//   R1  The simulator listens (bridge/channel/socket.h); rxnic connects for each module that it wants. A message is a
//       packet of the socket, of at most kMaxPacketBytes.
//   R2  rxnic begins with a PinRecord of kind kModule: the block that it wants, and kPinsVersion. The answer are
//       records: kModule with the version of the simulator's side, then all parameters and signals of the module. Just
//       the first one: the versions differ, or there is no such module, or each one is taken.
//   R3  From then on each packet of rxnic has what stands at the inputs. Its answer has what stands at the outputs when
//       everything behind the inputs has settled. A packet has the words of one signal after the other, in the order of
//       the records. The least significant word is first, and the bits above a signal are 0. The clock is an input as
//       any other.
//   R4  An answer begins with a word that is 0. Any other value: the module cannot go on, and a text says why.
//   R5  Either side ends it by closing the socket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace rxnic::dpi {

inline constexpr std::uint64_t kPinsVersion = 1;
inline constexpr std::size_t kMaxPacketBytes = 65536;
inline constexpr unsigned kWordBits = 32;
inline constexpr std::size_t kWordBytes = 4;

enum class PinKind : std::uint32_t { kModule = 1, kParameter, kInput, kOutput };

struct PinRecord {
  std::array<char, 52> name{};  // ends with a zero byte
  PinKind kind{};
  std::uint64_t value = 0;  // the version, the parameter, the signal's bits
};
static_assert(sizeof(PinRecord) == 64);

constexpr std::size_t words_of_pin(std::uint64_t bits) { return (bits + kWordBits - 1) / kWordBits; }

// False: the name is too long.
inline bool set_name(PinRecord& record, std::string_view name) {
  if (name.size() >= record.name.size()) return false;
  record.name.fill('\0');
  std::memcpy(record.name.data(), name.data(), name.size());
  return true;
}
// "" when it does not end.
inline std::string name_of(const PinRecord& record) {
  const std::size_t bytes = strnlen(record.name.data(), record.name.size());
  return bytes == record.name.size() ? std::string() : std::string(record.name.data(), bytes);
}

// Whether the packet was sent.
bool send_packet(int socket, const void* data, std::size_t bytes);
// Bytes of the next packet, with those for which `data` has no room; 0: the other side is gone.
std::size_t receive_packet(int socket, void* data, std::size_t bytes);

}  // namespace rxnic::dpi
