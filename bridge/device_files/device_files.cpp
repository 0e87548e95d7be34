// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program (LD_PRELOAD): shows it the files that a kernel's driver would have made for the NICs.
//
//   R1  Paths that begin with one of kShown name files below the folder RXNIC_DEVICE_FILES, at the same path there. All
//       other paths, those that are relative, and all paths without that variable, are as they are.
//   R2  It is about looking: opening a file, reading its status, attributes, access or link, reading a folder.
//       Programs that call the kernel without the C library see what there is.
//   R3  A path that would be longer than the system's longest is as it is. errno is that of the C library's function.
//   R4  /sys/class/infiniband, /dev/infiniband and the like as a whole hold the model's NICs alone: a program with the
//       drop-in libibverbs has no other ones. In /sys/class/net only the model's interfaces are shown, since the
//       kernel's has the host's interfaces. Where the folder has lo (`rxnic run --network own`), the folder is shown as
//       a whole.
//   R5  A path of a NIC's counters leaves a mark for the simulator, which keeps the numbers exact from then on
//       (bridge/rxnic/fabric/counter_files.h R3).
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bridge/device_files/rdma_cm.h"

#define RXNIC_SHOW extern "C" __attribute__((visibility("default")))

namespace {

constexpr const char* kShown[] = {"/dev/infiniband", "/sys/class/infiniband", "/sys/class/infiniband_verbs",
                                  "/sys/class/misc/rdma_cm", "/sys/class/net/rxnic"};

bool is_shown(const char* path) {
  for (const char* prefix : kShown) {
    const std::size_t length = std::strlen(prefix);
    if (std::strncmp(path, prefix, length) != 0) continue;
    const char next = path[length];
    if (next == '\0' || next == '/' || std::strcmp(prefix, "/sys/class/net/rxnic") == 0) return true;
  }
  return false;
}

// R4
bool shows_network(const char* folder, const char* path) {
  constexpr char kNetwork[] = "/sys/class/net";
  constexpr std::size_t kLength = sizeof kNetwork - 1;
  if (std::strncmp(path, kNetwork, kLength) != 0 || (path[kLength] != '\0' && path[kLength] != '/')) return false;
  char lo[PATH_MAX];
  const int length = std::snprintf(lo, sizeof lo, "%s%s/lo", folder, kNetwork);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof lo) return false;
  const int before = errno;
  const bool there = syscall(SYS_faccessat, AT_FDCWD, lo, F_OK) == 0;
  errno = before;
  return there;
}

// R5. By the kernel: the functions of these names are shown here.
void mark_counters(const char* folder, const char* path) {
  if (std::strncmp(path, "/sys/class/infiniband/", 22) != 0 || std::strstr(path, "counters") == nullptr) return;
  char mark[PATH_MAX];
  const int length = std::snprintf(mark, sizeof mark, "%s/counters_read", folder);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof mark) return;
  const int before = errno;
  const long fd = syscall(SYS_openat, AT_FDCWD, mark, O_WRONLY | O_CLOEXEC);
  if (fd >= 0) {
    syscall(SYS_write, fd, "1", 1);
    syscall(SYS_close, fd);
  }
  errno = before;
}

// A path as the C library gets it. (R1)
class Path {
 public:
  explicit Path(const char* path) : path_(path) {
    if (path == nullptr || path[0] != '/') return;
    const char* const folder = std::getenv("RXNIC_DEVICE_FILES");
    if (folder == nullptr || *folder == '\0' || !(is_shown(path) || shows_network(folder, path))) return;
    mark_counters(folder, path);
    const int length = std::snprintf(buffer_, sizeof buffer_, "%s%s", folder, path);
    if (length > 0 && static_cast<std::size_t>(length) < sizeof buffer_) path_ = buffer_;  // (R3)
  }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  operator const char*() const { return path_; }

 private:
  const char* path_;
  char buffer_[PATH_MAX];
};

// The C library's function.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool takes_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

}  // namespace

// RXNIC_NEXT: the function of this name behind this library, looked up once.
#define RXNIC_NEXT(name)                                   \
  static auto* const behind = next<decltype(name)>(#name); \
  return behind

// RXNIC_MODE: the argument behind `flags`, of a call that has one.
#define RXNIC_MODE(flags)        \
  mode_t mode = 0;               \
  if (takes_mode(flags)) {       \
    va_list more;                \
    va_start(more, flags);       \
    mode = va_arg(more, mode_t); \
    va_end(more);                \
  }

// The functions are those of the C library; its header says what each does.
#define RXNIC_OPEN(name)                                  \
  RXNIC_SHOW int name(const char* path, int flags, ...) { \
    RXNIC_MODE(flags)                                     \
    if (is_rdma_cm(path)) return open_rdma_cm(flags);     \
    RXNIC_NEXT(name)(Path(path), flags, mode);            \
  }
#define RXNIC_OPENAT(name)                                            \
  RXNIC_SHOW int name(int folder, const char* path, int flags, ...) { \
    RXNIC_MODE(flags)                                                 \
    if (is_rdma_cm(path)) return open_rdma_cm(flags);                 \
    RXNIC_NEXT(name)(folder, Path(path), flags, mode);                \
  }
#define RXNIC_STAT(name, status) \
  RXNIC_SHOW int name(const char* path, struct status* to) noexcept { RXNIC_NEXT(name)(Path(path), to); }

// bridge/verbs/lost_preload.cpp looks for it.
RXNIC_SHOW void rxnic_shows_device_files() {}

RXNIC_OPEN(open)
RXNIC_OPEN(open64)
RXNIC_OPENAT(openat)
RXNIC_OPENAT(openat64)
RXNIC_STAT(stat, stat)
RXNIC_STAT(stat64, stat64)
RXNIC_STAT(lstat, stat)
RXNIC_STAT(lstat64, stat64)
RXNIC_SHOW int fstatat(int folder, const char* path, struct stat* to, int flags) noexcept {
  RXNIC_NEXT(fstatat)(folder, Path(path), to, flags);
}
RXNIC_SHOW int fstatat64(int folder, const char* path, struct stat64* to, int flags) noexcept {
  RXNIC_NEXT(fstatat64)(folder, Path(path), to, flags);
}
RXNIC_SHOW int statx(int folder, const char* path, int flags, unsigned mask, struct statx* to) noexcept {
  RXNIC_NEXT(statx)(folder, Path(path), flags, mask, to);
}
RXNIC_SHOW int access(const char* path, int how) noexcept { RXNIC_NEXT(access)(Path(path), how); }
RXNIC_SHOW int eaccess(const char* path, int how) noexcept { RXNIC_NEXT(eaccess)(Path(path), how); }
RXNIC_SHOW int faccessat(int folder, const char* path, int how, int flags) noexcept {
  RXNIC_NEXT(faccessat)(folder, Path(path), how, flags);
}
RXNIC_SHOW FILE* fopen(const char* path, const char* how) { RXNIC_NEXT(fopen)(Path(path), how); }
RXNIC_SHOW FILE* fopen64(const char* path, const char* how) { RXNIC_NEXT(fopen64)(Path(path), how); }
RXNIC_SHOW DIR* opendir(const char* path) { RXNIC_NEXT(opendir)(Path(path)); }
RXNIC_SHOW int scandir(const char* path, dirent*** list, int (*chooses)(const dirent*),
                       int (*compares)(const dirent**, const dirent**)) {
  RXNIC_NEXT(scandir)(Path(path), list, chooses, compares);
}
RXNIC_SHOW int scandir64(const char* path, dirent64*** list, int (*chooses)(const dirent64*),
                         int (*compares)(const dirent64**, const dirent64**)) {
  RXNIC_NEXT(scandir64)(Path(path), list, chooses, compares);
}
RXNIC_SHOW ssize_t readlink(const char* path, char* to, std::size_t bytes) noexcept {
  RXNIC_NEXT(readlink)(Path(path), to, bytes);
}
RXNIC_SHOW ssize_t readlinkat(int folder, const char* path, char* to, std::size_t bytes) noexcept {
  RXNIC_NEXT(readlinkat)(folder, Path(path), to, bytes);
}
RXNIC_SHOW ssize_t getxattr(const char* path, const char* name, void* to, std::size_t bytes) noexcept {
  RXNIC_NEXT(getxattr)(Path(path), name, to, bytes);
}
RXNIC_SHOW ssize_t lgetxattr(const char* path, const char* name, void* to, std::size_t bytes) noexcept {
  RXNIC_NEXT(lgetxattr)(Path(path), name, to, bytes);
}
RXNIC_SHOW char* realpath(const char* path, char* to) noexcept { RXNIC_NEXT(realpath)(Path(path), to); }

// What a program does with an open /dev/infiniband/rdma_cm.
RXNIC_SHOW ssize_t write(int fd, const void* bytes, std::size_t length) {
  if (is_rdma_cm(fd)) return write_rdma_cm(fd, bytes, length);
  RXNIC_NEXT(write)(fd, bytes, length);
}
RXNIC_SHOW int close(int fd) {
  if (is_rdma_cm(fd)) forget_rdma_cm(fd);
  RXNIC_NEXT(close)(fd);
}
template <class Status>
int as_rdma_cm(int fd, int result, Status* to) {
  if (result == 0 && is_rdma_cm(fd)) {
    to->st_mode = S_IFCHR | 0666;
    to->st_rdev = rdma_cm_number();
  }
  return result;
}
#define RXNIC_FSTAT(name, status)                            \
  RXNIC_SHOW int name(int fd, struct status* to) noexcept {  \
    static auto* const behind = next<decltype(name)>(#name); \
    return as_rdma_cm(fd, behind(fd, to), to);               \
  }
RXNIC_FSTAT(fstat, stat)
RXNIC_FSTAT(fstat64, stat64)

// NOLINTBEGIN(readability-identifier-naming): the names are the C library's.
// stat() and its like call these functions in a program that was built with a C library older than 2.33. GCC 12's
// thread sanitizer passes a program's fstat() on to them, too. `version` is that of the struct.
#define RXNIC_OLD_STAT(name, status) \
  RXNIC_SHOW int name(int version, const char* path, struct status* to) { RXNIC_NEXT(name)(version, Path(path), to); }
#define RXNIC_OLD_FSTAT(name, status)                           \
  RXNIC_SHOW int name(int version, int fd, struct status* to) { \
    static auto* const behind = next<decltype(name)>(#name);    \
    return as_rdma_cm(fd, behind(version, fd, to), to);         \
  }
#define RXNIC_OLD_FSTATAT(name, status)                                                          \
  RXNIC_SHOW int name(int version, int folder, const char* path, struct status* to, int flags) { \
    RXNIC_NEXT(name)(version, folder, Path(path), to, flags);                                    \
  }
RXNIC_OLD_STAT(__xstat, stat)
RXNIC_OLD_STAT(__xstat64, stat64)
RXNIC_OLD_STAT(__lxstat, stat)
RXNIC_OLD_STAT(__lxstat64, stat64)
RXNIC_OLD_FSTAT(__fxstat, stat)
RXNIC_OLD_FSTAT(__fxstat64, stat64)
RXNIC_OLD_FSTATAT(__fxstatat, stat)
RXNIC_OLD_FSTATAT(__fxstatat64, stat64)

// What these become when a program was built with checks of buffer sizes (_FORTIFY_SOURCE).
#define RXNIC_OPEN_CHECKED(name, call) \
  RXNIC_SHOW int name(const char* path, int flags) { return call(path, flags); }
RXNIC_OPEN_CHECKED(__open_2, open)
RXNIC_OPEN_CHECKED(__open64_2, open64)
RXNIC_SHOW int __openat_2(int folder, const char* path, int flags) { return openat(folder, path, flags); }
RXNIC_SHOW int __openat64_2(int folder, const char* path, int flags) { return openat64(folder, path, flags); }
extern "C" {
ssize_t __readlink_chk(const char*, char*, std::size_t, std::size_t);
char* __realpath_chk(const char*, char*, std::size_t);
}
RXNIC_SHOW ssize_t __readlink_chk(const char* path, char* to, std::size_t bytes, std::size_t room) {
  RXNIC_NEXT(__readlink_chk)(Path(path), to, bytes, room);
}
RXNIC_SHOW char* __realpath_chk(const char* path, char* to, std::size_t room) {
  RXNIC_NEXT(__realpath_chk)(Path(path), to, room);
}
// NOLINTEND(readability-identifier-naming)
