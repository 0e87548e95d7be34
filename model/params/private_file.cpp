// SPDX-License-Identifier: Apache-2.0
#include "model/params/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rxnic {

namespace {

constexpr int kTries = 16;  // another process may write the same file

[[noreturn]] void refuse(const std::filesystem::path& path, int error) {
  throw Unwritable(path.string(), std::strerror(error));
}
[[noreturn]] void refuse_link(const std::filesystem::path& path) {
  throw Unwritable(path.string(), "a symbolic link, which is not followed");
}

bool is_trusted(uid_t owner) { return owner == geteuid() || owner == 0; }

bool keeps_nothing(const struct stat& file) {
  return S_ISCHR(file.st_mode) || (S_ISFIFO(file.st_mode) && is_trusted(file.st_uid));
}

// Whether something stands there that is written to, and not replaced. (R2)
bool is_written_to(const std::filesystem::path& path, const struct stat& found) {
  if (!S_ISLNK(found.st_mode)) return keeps_nothing(found);
  struct stat target;
  return is_trusted(found.st_uid) && stat(path.c_str(), &target) == 0 && keeps_nothing(target);
}

int write_to(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) refuse(path, errno);
  struct stat opened;
  if (fstat(descriptor, &opened) == 0 && keeps_nothing(opened)) return descriptor;
  close(descriptor);
  refuse_link(path);  // it was exchanged
}

}  // namespace

int create_private(const std::filesystem::path& path, Links links) {
  for (int n = 0; n < kTries; ++n) {
    const int made = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (made >= 0) return made;
    if (errno != EEXIST) refuse(path, errno);
    struct stat found;
    if (lstat(path.c_str(), &found) != 0) continue;
    if (S_ISREG(found.st_mode)) {
      if (unlink(path.c_str()) != 0 && errno != ENOENT) refuse(path, errno);
      continue;
    }
    if (is_written_to(path, found)) return write_to(path);
    if (S_ISDIR(found.st_mode)) refuse(path, EISDIR);
    if (!S_ISLNK(found.st_mode)) refuse(path, EEXIST);
    if (links == Links::kRefused || !is_trusted(found.st_uid)) refuse_link(path);
    const int behind = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0600);
    if (behind < 0) refuse(path, errno);
    return behind;
  }
  refuse(path, EEXIST);
}

std::FILE* open_to_write(const std::filesystem::path& path, Links links) {
  const int descriptor = create_private(path, links);
  std::FILE* const file = fdopen(descriptor, "wb");
  if (file != nullptr) return file;
  const int why = errno;
  close(descriptor);
  refuse(path, why);
}

void make_private_folder(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder.has_filename() ? folder : folder.parent_path();  // "runs/" is "runs"
  if (mkdir(path.c_str(), 0700) == 0) return;
  if (errno == ENOENT && path.has_parent_path()) {
    make_private_folder(path.parent_path());
    if (mkdir(path.c_str(), 0700) == 0) return;
  }
  if (errno != EEXIST) refuse(path, errno);
  struct stat found, target;
  if (lstat(path.c_str(), &found) != 0 || stat(path.c_str(), &target) != 0) refuse(path, errno);
  if (!S_ISDIR(target.st_mode)) refuse(path, ENOTDIR);
  if (S_ISLNK(found.st_mode) && !is_trusted(found.st_uid)) refuse_link(path);
}

void refuse_links(const std::filesystem::path& path) {
  struct stat found;
  if (lstat(path.c_str(), &found) == 0 && S_ISLNK(found.st_mode) && !is_written_to(path, found)) refuse_link(path);
}

}  // namespace rxnic
