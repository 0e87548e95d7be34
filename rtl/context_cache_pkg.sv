// SPDX-License-Identifier: Apache-2.0
// A line of a cache of contexts (model/core/memory/context_cache.h).
package context_cache_pkg;

  localparam int unsigned NumberBits = 24;
  localparam logic [1:0] LineEmpty = 2'd0;
  localparam logic [1:0] LineReading = 2'd1;
  localparam logic [1:0] LineHere = 2'd2;

endpackage : context_cache_pkg
