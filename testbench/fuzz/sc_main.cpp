// SPDX-License-Identifier: Apache-2.0
// What a program with SystemC's library must have: main() is libFuzzer's, or the program's own.
extern "C" int sc_main(int, char**) { return 0; }

// SystemC keeps the events that are due in blocks of memory, and loses one with a kernel in which some were due.
extern "C" const char* __lsan_default_suppressions() { return "leak:sc_core::sc_event_timed::allocate"; }
