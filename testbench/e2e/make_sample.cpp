// SPDX-License-Identifier: Apache-2.0
// Writes the sample capture: make_sample FILE
#include <cstdio>
#include <exception>

#include "model/core/wire/icrc.h"
#include "traces/capture_writer.h"
#include "traces/sample_trace.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_sample FILE\n");
    return 2;
  }
  try {
    rxnic::CaptureWriter writer(argv[1], rxnic::LinkLayer::kEthernet);
    for (const rxnic::SampleFrame& frame : rxnic::sample_frames(&rxnic::seal)) writer.write(frame.time_ps, frame.bytes);
    writer.close();
    std::printf("%s: %llu frames\n", argv[1], static_cast<unsigned long long>(writer.frames()));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_sample: %s\n", error.what());
    return 1;
  }
}
