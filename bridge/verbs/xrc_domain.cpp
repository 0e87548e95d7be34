// SPDX-License-Identifier: Apache-2.0
// XRC domains. Which of them is a file's, the simulator decides by the descriptor that it is given.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <span>

#include "bridge/verbs/connection.h"
#include "bridge/verbs/control_path.h"
#include "bridge/verbs/objects.h"

namespace rxnic::verbs {

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes) {
  constexpr std::uint32_t kNeeded = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  channel::Message message = request(channel::Request::kOpenXrcd);
  message.body.xrcd = {};
  int status = 0;
  if ((attributes->comp_mask & ~kNeeded) != 0) status = EOPNOTSUPP;
  if ((attributes->comp_mask & kNeeded) != kNeeded || (attributes->oflags & ~(O_CREAT | O_EXCL)) != 0) status = EINVAL;
  auto* const xrcd = status == 0 ? new (std::nothrow) Xrcd : nullptr;
  if (status == 0 && xrcd == nullptr) status = ENOMEM;
  if (status == 0) {
    message.body.xrcd.create = (attributes->oflags & O_CREAT) != 0 ? 1 : 0;
    message.body.xrcd.exclusive = (attributes->oflags & O_EXCL) != 0 ? 1 : 0;
    const bool has_file = attributes->fd != -1;
    if (has_file) xrcd->file = fcntl(attributes->fd, F_DUPFD_CLOEXEC, 0);
    const int descriptors[] = {xrcd->file};
    status =
        has_file && xrcd->file == -1 ? errno : call(context_of(context), message, {descriptors, has_file ? 1u : 0u});
  }
  if (status != 0) {
    if (xrcd != nullptr && xrcd->file != -1) close(xrcd->file);
    delete xrcd;
    errno = status;
    return nullptr;
  }
  xrcd->xrcd.context = context;
  xrcd->number = message.body.xrcd.number;
  return &xrcd->xrcd;
}

int close_xrcd(ibv_xrcd* xrcd) {
  Context& context = context_of(xrcd->context);
  Xrcd& x = xrcd_of(xrcd);
  if (x.users.load() != 0) return EBUSY;
  channel::Message message = request(channel::Request::kCloseXrcd);
  message.body.xrcd = {};
  message.body.xrcd.number = x.number;
  const int status = call(context, message);
  if (status != 0 && status != EIO) return status;
  if (x.file != -1) close(x.file);
  delete &x;
  return 0;
}

}  // namespace rxnic::verbs
