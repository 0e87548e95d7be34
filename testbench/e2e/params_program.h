// SPDX-License-Identifier: Apache-2.0
// What params_program does, as far as it lies in a file of its own.
#pragma once

namespace rxnic::live {

void rendezvous();     // between two NICs
void device_memory();  // of the second of two NICs
void paging();         // likewise
void steering();       // on one NIC
void tso();            // between two NICs

}  // namespace rxnic::live
