// SPDX-License-Identifier: Apache-2.0
// What programs see: everything else of the library is hidden. The versions are in libibverbs.map.
#pragma once

#define RXNIC_EXPORT extern "C" __attribute__((visibility("default")))
