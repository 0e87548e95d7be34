// SPDX-License-Identifier: Apache-2.0
// The functions of rxnic_dpi.h.
package rxnic_dpi_pkg;

import "DPI-C" function chandle rxnic_listen(input string address);
import "DPI-C" function int rxnic_start(input chandle server, input string command);
import "DPI-C" function chandle rxnic_module(input chandle server, input string block);
import "DPI-C" function void rxnic_parameter(input chandle module_h, input string name, input longint unsigned value);
import "DPI-C" function void rxnic_input(input chandle module_h, input string name, input int bits);
import "DPI-C" function void rxnic_output(input chandle module_h, input string name, input int bits);
import "DPI-C" function chandle rxnic_wait(input chandle server);
import "DPI-C" function int unsigned rxnic_get(input chandle module_h, input int signal, input int word);
import "DPI-C" function void rxnic_put(input chandle module_h, input int signal, input int word,
                                       input int unsigned value);
import "DPI-C" function void rxnic_answer(input chandle module_h);
import "DPI-C" function void rxnic_fail(input chandle module_h, input string why);
import "DPI-C" function int rxnic_close(input chandle server);

typedef enum int {RXNIC_DESCRIBE, RXNIC_DRIVE, RXNIC_SAMPLE} rxnic_what_e;

endpackage : rxnic_dpi_pkg
