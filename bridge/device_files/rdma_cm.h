// SPDX-License-Identifier: Apache-2.0
// A program's /dev/infiniband/rdma_cm: what it writes goes to the agent (bridge/cm), as it would go to a kernel.
//
//   R1  The descriptor is the end of a pipe with a byte for each event that waits: poll, epoll, O_NONBLOCK and SIGIO
//       are the kernel's. The socket to the agent behind it is closed with it.
//   R2  write() is a command of <rdma/rdma_user_cm.h>. It returns when the command is done and its reply lies where the
//       command says; -1 and errno otherwise. GET_EVENT waits for an event, unless the descriptor is O_NONBLOCK.
//   R3  Where nobody serves the device (no simulator, no agent, a NIC that is not there) there is no such device. The
//       error is ENODEV, and a line on standard error says why. When the agent or the simulator has ended meanwhile:
//       EIO.
//   R4  Copies by dup() are plain pipes: commands need the descriptor that open() gave.
#pragma once

#include <sys/types.h>

#include <cstddef>

bool is_rdma_cm(const char* path);
int open_rdma_cm(int flags);  // -1 and errno

bool is_rdma_cm(int fd);
ssize_t write_rdma_cm(int fd, const void* bytes, std::size_t length);
void forget_rdma_cm(int fd);  // it is about to be closed
dev_t rdma_cm_number();
