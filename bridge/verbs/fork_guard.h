// SPDX-License-Identifier: Apache-2.0
// fork and exit: the mapping and the socket belong to one process. A forked child that uses its parent's context finds
// a device that has failed (EIO, flushed WRs). The child cannot disturb the parent, and does not keep the parent's
// connection open.
//
//   R1  While a process forks no context is added to the list of contexts or removed from it.
//   R2  In the child every context is dead, its descriptors are closed, its mapping is private memory, its locks are
//       free. The child may free the objects, and may open the device anew.
//   R3  Registered memory needs no preparation: the simulator reaches it through the parent's address space, whichever
//       pages are copied on write.
//   R4  A context has left (shared_mapping.h R7) when it is closed, and when the process ends by exit() or a return
//       from main. A child that does so marks its own mapping only, not its parent's.
#pragma once

namespace rxnic::verbs {

struct Context;

void guard_fork(Context& context);    // the context was opened
void unguard_fork(Context& context);  // it is about to be closed

}  // namespace rxnic::verbs
