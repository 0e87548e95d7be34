// SPDX-License-Identifier: Apache-2.0
/* RTL that rxnic must refuse: the description of a right one, RIGHT, in which ALTERATION changes something. Plain C, as
   bridge/rtl/rxnic_rtl.h is. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/rtl/rxnic_rtl.h"

enum { MOST = 64 };

static struct RxnicRtl rtl;
static struct RxnicRtlSignal signals[MOST];
static struct RxnicRtlParameter parameters[MOST];

/* For ALTERATION: what has a name. */
static struct RxnicRtlSignal* signal_of(const char* name) {
  struct RxnicRtlSignal* s = signals;
  while (strcmp(s->name, name) != 0) ++s;
  return s;
}
static struct RxnicRtlParameter* parameter_of(const char* name) {
  struct RxnicRtlParameter* p = parameters;
  while (strcmp(p->name, name) != 0) ++p;
  return p;
}

/* Also for ALTERATION: RTL that takes nothing at `in`, and after a while does nothing at all; RTL that is quiescent. */
static void (*right_eval)(void*);
static void deaf_eval(void* instance) {
  static unsigned evals;
  uint8_t* const valid = rtl.at(instance, (uint32_t)(signal_of("in_valid_i") - signals));
  uint8_t* const ready = rtl.at(instance, (uint32_t)(signal_of("in_ready_o") - signals));
  const uint8_t offered = *valid;
  *valid = 0;
  if (evals < 1000) {
    ++evals;
    right_eval(instance);
  }
  *valid = offered;
  *ready = 0;
}
static void quiescent_eval(void* instance) {
  right_eval(instance);
  *(uint8_t*)rtl.at(instance, (uint32_t)(signal_of("quiescent_o") - signals)) = 1;
}
static void eval_with(void (*eval)(void*)) {
  right_eval = rtl.eval;
  rtl.eval = eval;
  rtl.next_cycle = NULL;
}

const struct RxnicRtl* rxnic_rtl(void) {
  void* const object = dlopen(RIGHT, RTLD_NOW | RTLD_LOCAL);
  const struct RxnicRtl* (*describe)(void);
  if (object == NULL) abort();
  *(void**)&describe = dlsym(object, RXNIC_RTL_SYMBOL);
  rtl = *describe();
  if (rtl.signal_count >= MOST || rtl.parameter_count >= MOST) abort();
  memcpy(signals, rtl.signals, rtl.signal_count * sizeof *signals);
  memcpy(parameters, rtl.parameters, rtl.parameter_count * sizeof *parameters);
  rtl.signals = signals;
  rtl.parameters = parameters;
  (void)signal_of;
  (void)parameter_of;
  (void)eval_with;
  (void)deaf_eval;
  (void)quiescent_eval;
  ALTERATION;
  return &rtl;
}
