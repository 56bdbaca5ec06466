// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/byte_stream.h"

#include <mpi.h>

#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace belfry::mpi {

/// A message, arrived as a whole.
struct Letter {
  int from = 0;
  int tag = 0;
  belfry::detail::Bytes bytes;
};

/// Messages of a communicator, sent and received without waiting. Messages of a process arrive in
/// the order of sending. A message may be underway when its sender or receiver dies: a mailbox with
/// messages underway must not be destroyed, because MPI may still use the buffers.
class Mailbox {
 public:
  /// For `processes` processes. Does not own the communicator.
  Mailbox(MPI_Comm communicator, int processes)
      : communicator_(communicator), sending_(static_cast<std::size_t>(processes)) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Sends `count` bytes of `bytes` from `first` on; count fits an int.
  void send(int to, int tag, std::shared_ptr<const belfry::detail::Bytes> bytes, std::size_t first,
            std::size_t count);
  /// The next letter, if any has arrived; also drives messages underway. Never blocks.
  std::optional<Letter> poll();

  /// Whether a message to a process is underway.
  bool is_sending_to(int process) const {
    return !sending_[static_cast<std::size_t>(process)].empty();
  }
  /// Whether no message is underway.
  bool is_idle() const;

 private:
  struct Sending {
    std::shared_ptr<const belfry::detail::Bytes> bytes;
    MPI_Request request;
  };
  struct Receiving {
    Letter letter;
    MPI_Request request;
    bool arrived;
  };

  void drop_sent();
  bool receive_next();

  MPI_Comm communicator_;
  std::vector<std::deque<Sending>> sending_;  // By receiver, in the order of sending.
  std::deque<Receiving> receiving_;
};

}  // namespace belfry::mpi
