// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

namespace belfry::mpi {

/// Messages of a communicator, sent and received without waiting. Messages of a process with equal
/// tags arrive in the order of sending. A message may be underway when its sender or receiver dies:
/// a mailbox with messages underway must not be destroyed, because MPI may still use the buffers.
class Mailbox {
 public:
  /// For `processes` processes. Does not own the communicator.
  Mailbox(MPI_Comm communicator, int processes)
      : communicator_(communicator),
        sending_(static_cast<std::size_t>(processes)),
        receiving_(static_cast<std::size_t>(processes)) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Sends the first `count` bytes of `bytes`; count fits an int.
  void send(int to, int tag, std::shared_ptr<const std::byte> bytes, std::size_t count);
  /// Receives a message of `count` bytes into `bytes`; count fits an int. No further message from
  /// the process is underway by `receive`.
  void receive(int from, int tag, std::shared_ptr<std::byte> bytes, std::size_t count);
  /// Drives messages underway. Never blocks.
  void drive();

  /// Whether a message to a process is underway.
  bool is_sending_to(int process) const {
    return !sending_[static_cast<std::size_t>(process)].empty();
  }
  /// Whether a message of a process is underway.
  bool is_receiving_from(int process) const {
    return receiving_[static_cast<std::size_t>(process)].request != MPI_REQUEST_NULL;
  }
  /// Whether no message is underway.
  bool is_idle() const { return underway_ == 0; }

 private:
  struct Sending {
    std::shared_ptr<const std::byte> bytes;  // Shared with the caller of `send`.
    MPI_Request request;
  };
  struct Receiving {
    std::shared_ptr<std::byte> bytes;  // Shared with the caller of `receive`.
    MPI_Request request = MPI_REQUEST_NULL;
  };

  MPI_Comm communicator_;
  std::vector<std::deque<Sending>> sending_;  // By receiver, in the order of sending.
  std::vector<Receiving> receiving_;          // By sender.
  std::size_t underway_ = 0;
};

}  // namespace belfry::mpi
