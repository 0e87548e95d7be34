// SPDX-License-Identifier: Apache-2.0
/* DPI-C functions by which a SystemVerilog testbench puts its own modules into rxnic's traffic. rxnic_dpi_pkg.sv
 * imports them; pin_server.h has the rules. No function returns before it is done, and none consumes simulation time.
 * A null handle ends the simulator with status 1, and a message says which.
 */
#ifndef RXNIC_BRIDGE_DPI_RXNIC_DPI_H
#define RXNIC_BRIDGE_DPI_RXNIC_DPI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Listens at `address`, a path or @name. NULL: it cannot, and has said why on the standard error. */
void* rxnic_listen(const char* address);
/* Runs a command line of the shell beside the simulation. 1, or 0 and why on the standard error. */
int rxnic_start(void* server, const char* command);
/* A module that can take the place of `block` once; then its parameters and signals, which get the numbers 0, 1, ... */
void* rxnic_module(void* server, const char* block);
void rxnic_parameter(void* module, const char* name, uint64_t value);
void rxnic_input(void* module, const char* name, int bits);
void rxnic_output(void* module, const char* name, int bits);
/* The module for which inputs have come; NULL when there will be none any more. */
void* rxnic_wait(void* server);
/* 32 bits of a signal, word 0 the least significant ones. */
uint32_t rxnic_get(void* module, int signal, int word);
void rxnic_put(void* module, int signal, int word, uint32_t value);
/* Sends what was put, when all has settled behind the inputs. */
void rxnic_answer(void* module);
/* Ends rxnic with exit status 4 and this text: something is wrong with the module. */
void rxnic_fail(void* module, const char* why);
/* Ends the session. The exit status of the command: 0 when all was equal, 4 when it was not, or when a failure
   came too late for rxnic. */
int rxnic_close(void* server);

#ifdef __cplusplus
}
#endif

#endif
