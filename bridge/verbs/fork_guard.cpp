// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/fork_guard.h"

#include <pthread.h>

#include <mutex>

#include "bridge/verbs/connection.h"
#include "bridge/verbs/objects.h"

namespace rxnic::verbs {

namespace {

// All contexts of the process. One list per process, for the handlers of pthread_atfork get no argument.
Lock list_lock;
Context* first_context = nullptr;

void leave(Context& context) {  // (R4)
  static_cast<channel::MappingHeader*>(context.mapping)->left.store(1, std::memory_order_release);
}

__attribute__((destructor)) void leave_all() {
  const std::lock_guard guard(list_lock);
  for (Context* context = first_context; context != nullptr; context = context->next) leave(*context);
}

void prepare() { list_lock.lock(); }

void parent() { list_lock.unlock(); }

void child() {
  list_lock.reset();
  for (Context* context = first_context; context != nullptr; context = context->next) {
    context->connection->become_child();
    context->objects.reset();
    context->qps.for_each([](Qp& qp) {
      qp.send.lock.reset();
      qp.receive.lock.reset();
    });
    context->cqs.for_each([](Cq& cq) { cq.lock.reset(); });
    context->srqs.for_each([](Srq& srq) { srq.lock.reset(); });
  }
}

}  // namespace

void guard_fork(Context& context) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, [] { pthread_atfork(prepare, parent, child); });
  const std::lock_guard guard(list_lock);
  context.next = first_context;
  first_context = &context;
}

void unguard_fork(Context& context) {
  leave(context);
  const std::lock_guard guard(list_lock);
  for (Context** at = &first_context; *at != nullptr; at = &(*at)->next) {
    if (*at != &context) continue;
    *at = context.next;
    return;
  }
}

}  // namespace rxnic::verbs
