// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/byte_stream.h"
#include "belfry/detail/function_ref.h"
#include "socket.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace belfry::mpi {

/// The ends of processes, as the kernels see the ends. MPI does not tell a busy process from a dead
/// process.
///
/// Each process holds a socket, and the kernel closes the socket at the end of the process. The
/// process before, in the ring of ranks, has a connection to the socket, and sees the end. On a
/// host the socket has a name of Unix, and the connection is never accepted. Between hosts,
/// connections of IPv4 are accepted after a message with the name of the receiver.
class Liveness {
 public:
  /// A gather over the group: the bytes of all processes, in order of rank.
  using Gather =
      belfry::detail::FunctionRef<std::vector<belfry::detail::Bytes>(std::span<const std::byte>)>;

  /// An exchange. `network_ms` is the longest time for a network to answer. `uses_names` is equal
  /// in all processes, and false in tests alone. Order: blocks the host until all processes have
  /// called, and at most two times network_ms longer.
  Liveness(int rank, const Gather& gather, std::int64_t network_ms, bool uses_names = true);

  /// The processes with an end out of sight, ascending; equal in all processes.
  const std::vector<int>& unseen() const { return unseen_; }
  /// The next process in the ring.
  int next() const { return next_; }
  /// Whether the next process has ended, or has destroyed the Liveness; false if the process is not
  /// seen. Never blocks.
  bool next_has_ended() const { return connection_.is_closed_by_peer(); }

 private:
  void connect_by_name(const Gather& gather);
  void connect_by_network(const Gather& gather, std::int64_t network_ms);
  int accept_of_previous(std::int64_t end_ms);
  void note_unseen(const Gather& gather);
  bool is_unseen(int process) const;

  int rank_;
  int next_ = 0;
  int previous_ = 0;
  belfry::detail::Bytes name_;  // Random: no other process has the name.
  belfry::detail::Bytes next_name_;
  Socket listener_;
  Socket accepted_;    // The connection of the process before, over a network.
  Socket connection_;  // To the next process.
  std::vector<int> unseen_;
};

}  // namespace belfry::mpi
