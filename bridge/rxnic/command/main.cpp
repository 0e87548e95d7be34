// SPDX-License-Identifier: Apache-2.0
// The program. SystemC's library has a main() too, which prints a banner; this one does not.
#include <cstdlib>
#include <systemc>

#include "bridge/rxnic/command/cli.h"
#include "bridge/rxnic/output/standard_streams.h"

int sc_main(int argc, char* argv[]) {
  sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);  // it writes to standard output
  return rxnic::run_program(argc, argv);
}

int main(int argc, char* argv[]) {
  rxnic::open_standard_streams();
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
