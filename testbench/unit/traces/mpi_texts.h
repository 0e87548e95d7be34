// SPDX-License-Identifier: Apache-2.0
// Small traces of MPI, as liballprof, dumpi2ascii and otf2-print write them.
#pragma once

#include <string>

namespace rxnic::mpi_texts {

inline constexpr const char* kAllprof0 =
    "# collprof 0.9 output file\n# Init clockdiff: 0.000000\n\nMPI_Init:-:1:2:1000.000000\n"
    "MPI_Comm_size:1000.5:0,0,2:7:1001.000000\n"
    "MPI_Recv:1010.000000:4096:10:11,8,99:1:30:0,0,2:7:1020.000000\n"
    "MPI_Irecv:1011.250000:4096:3:2,4,4:-1:-1:0,0,2:5:1012.000000\n"
    "MPI_Recv:1011.500000:4096:3:2,4,4:-2:5:0,0,2:5:1012.000000\n"
    "MPI_Barrier:1012.000000:0,0,2:1013.000000\n"
    "MPI_Sendrecv:1014.000000:1:2:2,4,4:1:40:2:5:2,4,4:1:41:0,0,2:7:1015.000000\n"
    "# Finalize clockdiff: 0.000000\nMPI_Finalize:1100.000000:-\n";
inline constexpr const char* kAllprof1 =
    "# collprof 0.9 output file\n# Init clockdiff: -100.000000\n\nMPI_Init:-:1:2:1100.000000\n"
    "MPI_Send:1150.000000:4096:10:11,8,8:0:30:0,1,2:1160.000000\n"
    "# Finalize clockdiff: -90.000000\nMPI_Finalize:1200.000000:-\n";

inline constexpr const char* kOtf2 =
    "=== OTF2-PRINT ===\n\n=== Events ====\n"
    "Event                               Location            Timestamp  Attributes\n"
    "ENTER                                      1     1000  Region: \"MPI_Irecv\" <179>\n"
    "MPI_IRECV_REQUEST                          1     1010  Request: 1\n"
    "ENTER                                      1     1020  Region: \"MPI_Recv\" <180>\n"
    "MPI_RECV                                   1     1300  Sender: 0 (\"Master thread\" <0>), Communicator: "
    "\"MPI_COMM_WORLD\" <0>, Tag: 5, Length: 16\n"
    "ENTER                                      0     1100  Region: \"MPI_Isend\" <188>\n"
    "MPI_ISEND                                  0     1110  Receiver: 1 (\"Master thread\" <1>), Communicator: "
    "\"MPI_COMM_WORLD\" <0>, Tag: 123, Length: 40, Request: 2\n"
    "MPI_SEND                                   0     1120  Receiver: 1 (\"Master thread\" <1>), Communicator: "
    "\"MPI_COMM_WORLD\" <0>, Tag: 5, Length: 16\n"
    "MPI_IRECV                                  1     1400  Sender: 0 (\"Master thread\" <0>), Communicator: "
    "\"MPI_COMM_WORLD\" <0>, Tag: 123, Length: 40, Request: 1\n"
    "MPI_IRECV_REQUEST                          1     1500  Request: 2\n";

inline std::string dumpi_call(const std::string& name, const std::string& seconds, const std::string& arguments) {
  return name + " entering at walltime " + seconds + ", cputime 0.1 seconds in thread 0.\n" + arguments + name +
         " returning at walltime " + seconds + ", cputime 0.1 seconds in thread 0.\n";
}
inline const std::string kWorld = "MPI_Comm comm=2 (MPI_COMM_WORLD)\n";
inline std::string dumpi_of_rank_0() {
  return "version=1.1.0\nhostname=a\n" +
         dumpi_call("MPI_Init", "10.000000000", "int argc=0\nstring argv[0]=<IGNORED>\n") +
         dumpi_call("MPI_Irecv", "10.000000100",
                    "int count=4\nMPI_Datatype datatype=14 (MPI_DOUBLE)\nint source=-1 (MPI_ANY_SOURCE)\n"
                    "int tag=-1 (MPI_ANY_TAG)\n" +
                        kWorld + "MPI_Request request=[5]\n") +
         dumpi_call("MPI_Recv", "10.000000200",
                    "int count=1\nMPI_Datatype datatype=30 (user-defined-datatype)\nint source=1\nint tag=7\n" +
                        kWorld + "MPI_Status status=<IGNORED>\n") +
         dumpi_call("MPI_Allreduce", "10.1", "int count=1\n" + kWorld);
}
inline std::string dumpi_of_rank_1() {
  return dumpi_call("MPI_Isend", "10.000000050",
                    "int count=4\nMPI_Datatype datatype=14 (MPI_DOUBLE)\nint dest=0\nint tag=7\n" + kWorld);
}

}  // namespace rxnic::mpi_texts
