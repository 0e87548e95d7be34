// SPDX-License-Identifier: Apache-2.0
// A text file that is written in large pieces (private_file.h).
//
//   R1  An error (a full disk) is kept, and what is written after it is discarded; close() reports it, with the name of
//       the file. A file that is destroyed without close() reports none.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace rxnic {

class OutputFile {
 public:
  // Creates or empties the file. Throws std::runtime_error.
  explicit OutputFile(std::string path);
  std::string& text() { return text_; }  // to be appended to
  void flush_when_long() {
    if (text_.size() >= kPiece) flush();
  }
  // Throws std::runtime_error.
  void close();
  const std::string& path() const { return path_; }

 private:
  static constexpr std::size_t kPiece = 1u << 20;
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void flush();

  std::string path_;
  std::string text_;
  std::unique_ptr<std::FILE, Closer> file_;
  int error_ = 0;  // errno of the first one
};

}  // namespace rxnic
