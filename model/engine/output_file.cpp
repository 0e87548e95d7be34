// SPDX-License-Identifier: Apache-2.0
#include "model/engine/output_file.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "model/params/private_file.h"

namespace rxnic {

namespace {
std::runtime_error not_written(const std::string& path, const std::string& why) {
  return std::runtime_error(path + ": cannot be written: " + why);
}

std::FILE* open_file(const std::string& path) try { return open_to_write(path); } catch (const Unwritable& e) {
  throw not_written(path, e.why);
}
}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)), file_(open_file(path_)) {
  std::setvbuf(file_.get(), nullptr, _IONBF, 0);
}

void OutputFile::flush() {
  if (error_ == 0 && std::fwrite(text_.data(), 1, text_.size(), file_.get()) != text_.size()) error_ = errno;
  text_.clear();
}

void OutputFile::close() {  // (R1)
  flush();
  if (std::fclose(file_.release()) != 0 && error_ == 0) error_ = errno;
  if (error_ != 0) throw not_written(path_, std::strerror(error_));
}

}  // namespace rxnic
