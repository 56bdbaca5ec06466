// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/deadline.h"
#include "belfry/detail/byte_stream.h"
#include "belfry/detail/function_ref.h"
#include "belfry/error.h"
#include "belfry/process_group.h"
#include "mailbox.h"
#include "round_message.h"

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace belfry::mpi {

/// The rounds of a group. In a round every process sends a message to all others: the name of the
/// call and the beginning of the value. The rest of a long value follows in pieces, once all calls
/// are known to be equal. Collectives of MPI do not name the process that they wait for, and cannot
/// be given up. Messages between two processes name the silent process.
///
/// Every peer has a clock, which starts with a call, and anew with each message of the peer. A peer
/// is given up when the clock reaches the deadline; all processes are told.
class Rounds {
 public:
  /// Takes the communicator over.
  Rounds(MPI_Comm communicator, Deadline deadline, std::size_t piece_bytes);
  /// Frees the communicator if all processes have taken leave. MPI is usable, or has ended.
  ~Rounds();
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(peers_.size()); }
  /// The names of the hosts, for messages.
  void set_hosts(const std::vector<std::string>& hosts) { hosts_ = hosts; }
  void set_deadline(Deadline deadline) { deadline_ = deadline; }

  /// The values of all processes, in order of rank. `call` is compared, the lengths are not.
  /// Throws: the errors of ProcessGroup.
  std::vector<belfry::detail::Bytes> meet(const std::string& call,
                                          std::span<const std::byte> value);
  /// A round in which all processes leave; whether all have. Later calls are not allowed.
  bool take_leave() noexcept;
  GroupHealth health();

 private:
  // The messages and the clock of a process.
  struct Peer {
    std::deque<RoundMessage> inbox;  // Of this round and the next one.
    belfry::detail::Bytes rest;      // The pieces of this round.
    std::int64_t heard_ms = 0;       // The last message, or the begin of the call.
    std::uint64_t last_round = 0;
    std::string last_call;
    bool has_left = false;
  };
  // Whether this process waits for a peer.
  using Awaited = belfry::detail::FunctionRef<bool(int)>;

  void begin_call(const std::string& call);
  void send_to_all(int tag, belfry::detail::Bytes message);
  void send_pieces(const belfry::detail::Bytes& value, std::size_t first);
  void await(const Awaited& is_awaited);
  void take(Letter letter);
  void require_nobody_left() const;
  void require_level();
  std::vector<belfry::detail::Bytes> exchange(const std::string& call,
                                              std::span<const std::byte> value);
  std::vector<std::string> calls_of_round(const std::string& own) const;

  [[noreturn]] void give_up(std::vector<int> silent);
  ErrorReport left_report(int process) const;
  ErrorReport lost_report(const std::vector<int>& lost, const std::string& reason,
                          int teller) const;
  std::vector<ReplicaReport> last_seen() const;

  MPI_Comm communicator_;
  Deadline deadline_;
  std::size_t piece_bytes_;
  int rank_ = 0;
  std::vector<Peer> peers_;  // By rank; this process's own is unused.
  std::unique_ptr<Mailbox> mailbox_;
  std::vector<std::string> hosts_;
  std::uint64_t round_ = 0;
  std::string call_;
  std::vector<int> lost_ranks_;
  std::optional<ErrorReport> lost_;  // The first loss: every later call throws the report.
  bool all_took_leave_ = false;
};

}  // namespace belfry::mpi
