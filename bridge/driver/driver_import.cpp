// SPDX-License-Identifier: Apache-2.0
// PDs, regions and device memory that a client uses although another one has made them (ibv_import_pd(3)).
#include <cerrno>

#include "bridge/driver/driver.h"

namespace rxnic {

CommandResult Driver::import(ClientId client, Command& c) {
  channel::Import& asked = c.message.body.import;
  const ClientId from{static_cast<std::uint16_t>(asked.client)};
  if (c.message.type == channel::Request::kImportPd) {
    PdObject* const pd = shared(pds_, from, asked.number);
    if (pd == nullptr) return refuse(c, EINVAL);
    if (pd->owner != client) pd->importers.insert(client);
    return CommandResult::kDone;
  }
  if (c.message.type == channel::Request::kImportDeviceMemory) {
    DeviceMemoryObject* const memory = shared(device_memories_, from, asked.number);
    if (memory == nullptr) return refuse(c, EINVAL);
    if (memory->owner != client) memory->importers.insert(client);
    asked.length = memory->length;
    return CommandResult::kDone;
  }
  const auto region = regions_.find(asked.number);
  const bool is_there = region != regions_.end() && !region->second.ends && region->second.asked.pd == asked.pd &&
                        shared(pds_, client, asked.pd) != nullptr && shared(pds_, from, asked.pd) != nullptr;
  if (!is_there) return refuse(c, EINVAL);
  asked.rkey = asked.number;
  asked.length = region->second.asked.length;
  return CommandResult::kDone;
}

// False: nobody else has imported it.
template <class Object>
bool Driver::hand_on(Object& object, ClientId from) {
  object.importers.erase(from);
  if (object.owner != from) return true;
  if (object.importers.empty()) return false;
  object.owner = *object.importers.begin();
  object.importers.erase(object.importers.begin());
  return true;
}

void Driver::leave_imports(ClientId client) {
  const auto leave = [&](auto& objects, auto give_back_one) {
    for (auto it = objects.begin(); it != objects.end();) {
      const auto here = it++;  // it may go
      if (hand_on(here->second, client)) continue;
      give_back_one(here->second);
      objects.erase(here);
    }
  };
  leave(pds_, [](const PdObject&) {});
  leave(device_memories_, [this](const DeviceMemoryObject& memory) { give_back(memory); });
}

}  // namespace rxnic
