// SPDX-License-Identifier: Apache-2.0
// Files that a run writes. They hold what was in the memory of programs: nobody but the user reads them, and nobody
// else says where they go.
//
//   R1  A file has mode 0600 and is a new one: an old one of its name is removed, not emptied. Who has the old one
//       open, or knows it by another name, sees nothing of the new one.
//   R2  A symbolic link that stands there is refused, whoever made it: one that came with an archive is the user's,
//       too. What keeps nothing may be written to: a character device, and a FIFO of the user or of root, also behind a
//       link of theirs. Examples are /dev/full and a pipe to a program that shows the capture.
//   R3  A file that the user names by itself (Links::kOfOwner) may be a link of the user or of root: /dev/stdout.
//   R4  A folder that is made has mode 0700, and so have those on the way. A folder that is there keeps its mode. A
//       link to a folder is followed when it is of the user or of root.
#pragma once

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace rxnic {

enum class Links { kRefused, kOfOwner };

struct Unwritable : std::runtime_error {
  Unwritable(const std::string& path, const std::string& reason)
      : std::runtime_error(path + ": " + reason), why(reason) {}
  std::string why;  // without the path
};

// A descriptor, close-on-exec, that can be written; of a new file also read. These functions throw Unwritable.
int create_private(const std::filesystem::path& path, Links links = Links::kRefused);
std::FILE* open_to_write(const std::filesystem::path& path, Links links = Links::kRefused);
void make_private_folder(const std::filesystem::path& path);
// Whether a file could stand there, for one that is written at the end of a run. (R2)
void refuse_links(const std::filesystem::path& path);

}  // namespace rxnic
