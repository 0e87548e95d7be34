// SPDX-License-Identifier: Apache-2.0
// RTL of a block as rxnic uses it: a shared object that scripts/build_rtl makes of a module. The build makes such
// objects of the modules in rtl/. This interface is plain C, so that something else than Verilator can stand behind it,
// too.
//
//   R1  A shared object exports rxnic_rtl(). `version` is the first member in every version of this interface; a reader
//       of another version looks at nothing else.
//   R2  A signal is a port of the module, with its name. The names are those of rtl/README.md, among them clk_i,
//       rst_ni, quiescent_o and, when the module has it, activity_o. A signal's bits stand in memory, the least
//       significant first, `bytes` bytes of them; the bits above it are 0. The address holds as long as the instance.
//   R3  Outputs follow inputs, the clock among them, when eval() is called. The clock rises when clk_i is 1 in a call
//       and was 0 in the one before; no other input changes in that call. An instance needs a cycle of reset before
//       anything else.
//   R4  Every function is called from one thread at a time; instances know nothing of each other.
//   R5  What reset does not set is 0 in a new instance. When `random_init` is not 0, it is random: for the same number
//       the same registers and memories.
//   R6  next_cycle() is two calls of eval() in one, for little more than the time of one. The clock rises with the
//       inputs of the call before. Then the inputs that stand now take effect. clk_i is 0, before and after it.
#ifndef RXNIC_TESTBENCH_COSIM_RXNIC_RTL_H
#define RXNIC_TESTBENCH_COSIM_RXNIC_RTL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RXNIC_RTL_VERSION 4
#define RXNIC_RTL_SYMBOL "rxnic_rtl"

enum RxnicRtlDirection { kRxnicRtlInput = 0, kRxnicRtlOutput = 1 };

struct RxnicRtlSignal {
  const char* name;
  uint32_t direction; /* of the module's port, an enum RxnicRtlDirection */
  uint32_t bits;
  uint32_t bytes;
};

/* A parameter of the module, with the value that it was built for. */
struct RxnicRtlParameter {
  const char* name;
  uint64_t value;
};

struct RxnicRtl {
  uint32_t version; /* RXNIC_RTL_VERSION */
  uint32_t signal_count;
  uint32_t parameter_count;
  const char* block; /* the module's name */
  const struct RxnicRtlSignal* signals;
  const struct RxnicRtlParameter* parameters;
  void* (*create)(uint64_t random_init); /* R5; NULL: it could not be made */
  void (*destroy)(void* instance);
  void* (*at)(void* instance, uint32_t signal);
  void (*eval)(void* instance);
  /* Why it cannot go on, such as an assertion that has failed; NULL: it can. */
  const char* (*failure)(void* instance);
  /* Calls `found` for each cover point, with the number of cycles that have hit it. There may be none. */
  void (*cover_points)(void* instance, void (*found)(void* context, const char* name, uint64_t hits), void* context);
  void (*next_cycle)(void* instance); /* R6; NULL: there is none */
};

/* What a shared object exports: its description, which lives as long as it is loaded. */
const struct RxnicRtl* rxnic_rtl(void);

#ifdef __cplusplus
}
#endif

#endif
