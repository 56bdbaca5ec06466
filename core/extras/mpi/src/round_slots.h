// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "round_message.h"

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace belfry::mpi {

/// The part of a value in the first message of a round. With its head such a message has less than
/// 4 KiB, and needs no answer of the receiver within a machine.
inline constexpr std::size_t kFirstBytes = 3072;

/// The first messages of rounds, and notices, without waiting. Each process has a slot of fixed
/// memory for its message, and notices have a slot too. MPI has a posted receive for every free
/// slot: messages arrive in slots, and usual rounds allocate no memory. The next message waits in
/// MPI until the slot is free.
class RoundSlots {
 public:
  /// Posts the receives. Does not own the communicator.
  RoundSlots(MPI_Comm communicator, int rank, int processes);
  RoundSlots(const RoundSlots&) = delete;
  RoundSlots& operator=(const RoundSlots&) = delete;

  /// Sends to all other processes. All earlier messages have been sent. `first` has at most
  /// kFirstBytes.
  void send(const RoundHead& head, std::span<const std::byte> first);
  /// Whether the message to a process is underway.
  bool is_sending_to(int process) const {
    return sends_[static_cast<std::size_t>(process)] != MPI_REQUEST_NULL;
  }
  /// Drives messages underway. The processes of which a first message has arrived, valid until the
  /// next call. Throws: InternalError for a message of another version or byte order.
  std::span<const int> poll();

  /// Whether a message of a process is in its slot. Always true for this process.
  bool has(int process) const { return full_[static_cast<std::size_t>(process)] != 0; }
  RoundHead head(int process) const;
  /// The beginning of the value, in the slot.
  std::span<const std::byte> first(int process) const;
  /// Frees the slot of a process, if a message is in the slot.
  void release(int process);
  /// The next notice, if any has arrived.
  std::optional<Notice> take_notice();

  /// Takes the receives back; whether MPI has released the slots. The last call.
  bool close() noexcept;

 private:
  int processes() const { return static_cast<int>(sends_.size()); }
  void post(int slot, std::size_t bytes, int from, int tag);
  std::byte* slot(int process);
  const std::byte* slot(int process) const;

  MPI_Comm communicator_;
  int rank_;
  std::vector<std::byte> memory_;
  std::vector<MPI_Request> receives_;  // By process, then of notices. Null for this process.
  std::vector<MPI_Request> sends_;     // By process. Null unless underway.
  std::vector<char> full_;             // By process, then of notices.
  std::vector<int> completed_;         // Room for the answer of MPI_Testsome.
  int sending_ = 0;
};

}  // namespace belfry::mpi
