// SPDX-License-Identifier: Apache-2.0
// usage: mpirun -n N mpi_ranks [die]
// A token goes round a ring of ranks, then all of them reduce. Each rank checks every value that it receives. The last
// line says how much the ring moved. With `die` the last rank kills itself in between, and the others wait for it.
#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <numeric>
#include <vector>

namespace {
// Elements of a message: eager ones, and one of 1 MB, which is above every threshold for a rendezvous.
constexpr int kCounts[] = {1, 700, 20000, 250000};
int rank, ranks;

template <typename T, typename Expected>
void expect(const char* what, const std::vector<T>& found, Expected expected) {
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] != expected(i)) {
      std::printf("rank %d: %s: element %zu of %zu is wrong\n", rank, what, i, found.size());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

// Rank 0 sends 0, 1, 2... and each other rank adds one to every element; returns the bytes of all messages.
long ring(int count) {
  const int previous = (rank + ranks - 1) % ranks, next = (rank + 1) % ranks;
  std::vector<int> token(count);
  if (rank == 0) {
    std::iota(token.begin(), token.end(), 0);
    MPI_Send(token.data(), count, MPI_INT, next, 1, MPI_COMM_WORLD);
  }
  MPI_Recv(token.data(), count, MPI_INT, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  expect("ring", token, [previous](size_t i) { return static_cast<int>(i) + previous; });
  if (rank != 0) {
    for (int& element : token) {
      ++element;
    }
    MPI_Send(token.data(), count, MPI_INT, next, 1, MPI_COMM_WORLD);
  }
  return static_cast<long>(count) * static_cast<long>(sizeof(int)) * ranks;
}

// The sum over all ranks of rank + 1 times an element; exact, also of doubles.
template <typename T>
void all_reduce(int count, MPI_Datatype type, T unit) {
  const auto times = [unit](int factor) {
    return [unit, factor](size_t i) { return static_cast<T>(factor) * unit * static_cast<T>(i % 1000 + 1); };
  };
  std::vector<T> mine(count), sum(count);
  for (int i = 0; i < count; ++i) {
    mine[i] = times(rank + 1)(i);
  }
  MPI_Allreduce(mine.data(), sum.data(), count, type, MPI_SUM, MPI_COMM_WORLD);
  expect("all-reduce", sum, times(ranks * (ranks + 1) / 2));
}
}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  long bytes = 0;
  for (const int count : kCounts) {
    bytes += ring(count);
  }
  if (argc > 1 && rank == ranks - 1) {
    std::raise(SIGKILL);
  }
  for (const int count : kCounts) {
    all_reduce<int>(count, MPI_INT, 3);
    all_reduce<double>(count, MPI_DOUBLE, 0.25);
  }
  if (rank == 0) {
    std::printf("%d ranks, %ld bytes\n", ranks, bytes);
  }
  MPI_Finalize();
}
