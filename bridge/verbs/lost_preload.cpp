// SPDX-License-Identifier: Apache-2.0
// This library may be loaded into a program without librxnic_device_files.so, although `rxnic run` shows its programs
// the files of a driver. Then a script has set LD_PRELOAD anew. The first such program of a run says so in a file,
// which the run reads (bridge/rxnic/live/lost_preload.h).
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>

namespace {

__attribute__((constructor)) void say_that_preload_is_lost() {
  const char* const folder = std::getenv("RXNIC_DEVICE_FILES");
  if (folder == nullptr || *folder == '\0' || dlsym(RTLD_DEFAULT, "rxnic_shows_device_files") != nullptr) return;
  char file[PATH_MAX];
  const int length = std::snprintf(file, sizeof file, "%s/preload_lost", folder);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof file) return;
  const int descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return;  // not the first one
  const char* const preload = std::getenv("LD_PRELOAD");
  dprintf(descriptor, "%s\n%s", program_invocation_short_name, preload != nullptr ? preload : "");
  close(descriptor);
}

}  // namespace
