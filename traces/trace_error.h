// SPDX-License-Identifier: Apache-2.0
// What is wrong with a trace: which file, at which packet or line, what was found and what was expected.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace rxnic {

class TraceError : public std::runtime_error {
 public:
  // `packet` counts from 1, as capture tools do; 0: the file as a whole.
  TraceError(std::string file, std::uint64_t packet, std::string found, std::string expected)
      : TraceError(packet ? std::string(": packet ").append(std::to_string(packet)) : std::string(), std::move(file),
                   packet, std::move(found), std::move(expected)) {}
  // An error in a text file; lines count from 1.
  static TraceError at_line(std::string file, std::uint64_t line, std::string found, std::string expected) {
    return {std::string(1, ':').append(std::to_string(line)), std::move(file), 0, std::move(found),
            std::move(expected)};
  }
  const std::string& file() const { return file_; }
  std::uint64_t packet() const { return packet_; }
  const std::string& found() const { return found_; }
  const std::string& expected() const { return expected_; }

 private:
  TraceError(const std::string& place, std::string file, std::uint64_t packet, std::string found, std::string expected)
      : std::runtime_error(file + place + ": found " + found + "; expected " + expected),
        file_(std::move(file)),
        packet_(packet),
        found_(std::move(found)),
        expected_(std::move(expected)) {}

  std::string file_;
  std::uint64_t packet_;
  std::string found_;
  std::string expected_;
};

}  // namespace rxnic
