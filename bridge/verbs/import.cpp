// SPDX-License-Identifier: Apache-2.0
// Devices, PDs, regions and device memory of another context, of this process or of another one (ibv_import_device(3)).
//
//   R1  An imported context is a connection of its own to the NIC of the other one. It keeps the descriptor that it was
//       given: by it the simulator knows whose objects are imported.
//   R2  An unimport forgets the object here; the free or dereg of an import frees it for everybody. What a program has
//       made in an imported PD it may destroy behind the PD's unimport.
#include <cerrno>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "bridge/verbs/connection.h"
#include "bridge/verbs/control_path.h"
#include "bridge/verbs/objects.h"

namespace rxnic::verbs {

namespace {

// 0 or a positive errno. EINVAL: the context is not imported.
int import(Context& context, channel::Message& message) {
  const int descriptors[] = {context.imported_from};
  return context.imported_from < 0 ? EINVAL : call(context, message, descriptors);
}

channel::Message import_request(channel::Request type, std::uint32_t number) {
  channel::Message message = request(type);
  message.body.import = {};
  message.body.import.number = number;
  return message;
}

}  // namespace

ibv_pd* import_pd(ibv_context* context, std::uint32_t handle) {
  auto* const pd = new (std::nothrow) Pd;
  channel::Message message = import_request(channel::Request::kImportPd, handle);
  const int status = pd == nullptr ? ENOMEM : import(context_of(context), message);
  if (status != 0) {
    delete pd;
    errno = status;
    return nullptr;
  }
  pd->pd.context = context;
  pd->pd.handle = handle;
  return &pd->pd;
}

void unimport_pd(ibv_pd* pd) {  // (R2)
  std::unique_ptr<Pd> imported(&pd_of(pd));
  if (imported->users.load() == 0) return;
  Context& context = context_of(pd->context);
  const std::lock_guard guard(context.objects);
  context.unimported.push_back(std::move(imported));
}

ibv_mr* import_mr(ibv_pd* pd, std::uint32_t handle) {
  auto* const mr = new (std::nothrow) Mr;
  channel::Message message = import_request(channel::Request::kImportMemory, handle);
  message.body.import.pd = pd->handle;
  const int status = mr == nullptr ? ENOMEM : import(context_of(pd->context), message);
  if (status != 0) {
    delete mr;
    errno = status;
    return nullptr;
  }
  const channel::Import& found = message.body.import;
  mr->mr = {pd->context, pd, nullptr, found.length, handle, found.number, found.rkey};
  pd_of(pd).users.fetch_add(1);
  return &mr->mr;
}

void unimport_mr(ibv_mr* mr) {
  pd_of(mr->pd).users.fetch_sub(1);
  delete &mr_of(mr);
}

ibv_dm* import_dm(ibv_context* context, std::uint32_t handle) {
  ibv_dm* const dm = new_dm(context, handle);
  channel::Message message = import_request(channel::Request::kImportDeviceMemory, handle);
  const int status = dm == nullptr ? ENOMEM : import(context_of(context), message);
  if (status == 0) return dm;
  delete dm;
  errno = status;
  return nullptr;
}

void unimport_dm(ibv_dm* dm) { delete dm; }

}  // namespace rxnic::verbs
