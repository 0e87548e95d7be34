// SPDX-License-Identifier: Apache-2.0
// Files that are read, whatever the user names: opening one never waits, reading one never takes more than was allowed.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>

namespace rxnic {

// Opens for reading. A FIFO that nobody writes to is opened, too, and then empty: opening it never waits for a writer.
// nullptr: errno says why not.
std::FILE* open_to_read(const std::filesystem::path& path);

// The whole file (a pipe, too). Throws std::runtime_error that says why not, without the path: an error of the system,
// or that the file holds more than `most_bytes`.
std::string read_text_file(const std::filesystem::path& path, std::size_t most_bytes);

}  // namespace rxnic
