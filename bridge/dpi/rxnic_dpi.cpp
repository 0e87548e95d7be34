// SPDX-License-Identifier: Apache-2.0
#include "bridge/dpi/rxnic_dpi.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>

#include "bridge/dpi/pin_server.h"

namespace {

using rxnic::dpi::PinKind;
using rxnic::dpi::PinModule;
using rxnic::dpi::PinServer;

// The object behind a handle. Without one the simulation ends here, and says why.
template <class Object>
Object& behind(void* handle, const char* what, const char* from) {
  if (handle == nullptr) {
    std::fprintf(stderr, "rxnic: found a null handle of a %s; expected one that %s has returned\n", what, from);
    std::exit(1);
  }
  return *static_cast<Object*>(handle);
}
PinServer& server_of(void* handle) { return behind<PinServer>(handle, "server", "rxnic_listen()"); }
PinModule& module_of(void* handle) { return behind<PinModule>(handle, "module", "rxnic_module()"); }
void say(const std::string& error) { std::fprintf(stderr, "rxnic: %s\n", error.c_str()); }

}  // namespace

void* rxnic_listen(const char* address) {
  std::string error;
  try {
    auto server = std::make_unique<PinServer>();
    if (server->open(address, error)) return server.release();
  } catch (const std::system_error& e) {  // doorkeeper.h R6
    error = std::string("cannot start the process that the testbench needs: ") + e.what();
  }
  say(error);
  return nullptr;
}

int rxnic_start(void* server, const char* command) {
  std::string error;
  if (server_of(server).start(command, error)) return 1;
  say(error);
  return 0;
}

void* rxnic_module(void* server, const char* block) { return &server_of(server).add(block); }
void rxnic_parameter(void* module, const char* name, uint64_t value) { module_of(module).parameter(name, value); }
void rxnic_input(void* module, const char* name, int bits) {
  module_of(module).signal(name, PinKind::kInput, static_cast<unsigned>(bits));
}
void rxnic_output(void* module, const char* name, int bits) {
  module_of(module).signal(name, PinKind::kOutput, static_cast<unsigned>(bits));
}
void* rxnic_wait(void* server) { return server_of(server).wait(); }
uint32_t rxnic_get(void* module, int signal, int word) { return module_of(module).get(signal, word); }
void rxnic_put(void* module, int signal, int word, uint32_t value) { module_of(module).put(signal, word, value); }
void rxnic_answer(void* module) { module_of(module).answer(); }
void rxnic_fail(void* module, const char* why) { module_of(module).fail(why); }

int rxnic_close(void* server) {
  const std::unique_ptr<PinServer> owned(&server_of(server));
  return owned->close();
}
