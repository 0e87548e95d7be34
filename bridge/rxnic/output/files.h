// SPDX-License-Identifier: Apache-2.0
// Files that a run reads and leaves.
#pragma once

#include <string>

namespace rxnic {

// A file for its user alone; half of it is removed. Throws std::runtime_error that names the path.
void write_file(const std::string& path, const std::string& text);
// The folder of --out, for its user alone. Throws std::invalid_argument that names `option` and the path.
void make_folder(const std::string& option, const std::string& path);
// Throws std::invalid_argument that names the path and what was expected.
std::string read_file(const std::string& path, const std::string& expected);

}  // namespace rxnic
