// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/process_parts.h"
#include "belfry/detail/byte_stream.h"
#include "belfry/detail/function_ref.h"
#include "belfry/error.h"
#include "belfry/process_group.h"
#include "liveness.h"
#include "mailbox.h"
#include "polling.h"
#include "round_message.h"
#include "round_slots.h"

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace belfry::mpi {

/// The rounds of a group. In a round every process sends a message to all others: the call and the
/// beginning of the value. The rest of a long value follows in pieces, once all calls
/// are known to be equal. Collectives of MPI do not name the process that they wait for, and cannot
/// be given up. Messages between two processes name the silent process.
///
/// Every peer has a clock, which starts with a call, and anew with each message of the peer. A peer
/// is given up when the clock reaches the deadline; all processes are told.
class Rounds {
 public:
  /// Takes the communicator over.
  Rounds(MPI_Comm communicator, Deadline deadline, Deadline file_deadline, std::size_t piece_bytes);
  /// Frees the communicator if all processes have taken leave. MPI is usable, or has ended.
  ~Rounds();
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(peers_.size()); }
  /// The names of the hosts, for messages and for pauses.
  void set_hosts(const std::vector<std::string>& hosts);
  void set_deadline(Deadline deadline) { deadline_ = deadline; }
  /// The purposes of rounds; `names` outlives the rounds.
  void set_names(const belfry::detail::CallNames& names) { names_ = &names; }
  /// Whether some process saves or reads a file.
  void wait_for_file(bool is_underway) { waits_for_file_ = is_underway; }

  /// The values of all processes, in order of rank. `call` is compared, the lengths are not.
  /// Throws: the errors of ProcessGroup.
  std::vector<belfry::detail::Bytes> meet(Call call, std::span<const std::byte> value);
  /// The result of `fold` from the values; all values if `fold` makes nothing of the values.
  FoldedBytes meet_to_fold(Call call, std::span<const std::byte> value, ProcessGroup::Fold fold);
  /// A round for the parts of ProcessParts.
  bool exchange_parts(bool is_ready, std::span<const SentPart> sent,
                      std::span<const ReceivedPart> received);
  /// Connects the processes for `take_leave`: an exchange. If the end of some process is not seen,
  /// the farewell has a deadline.
  void watch(Deadline farewell_deadline);
  /// The rounds in which all processes leave; whether all have. Later calls are not allowed. Waits
  /// for living processes; a text on the error output names a process without a farewell.
  bool take_leave() noexcept;
  GroupHealth health();

 private:
  // The knowledge about a process.
  struct Peer {
    std::shared_ptr<belfry::detail::Bytes> value;  // Of this round, if pieces follow the beginning.
    std::vector<ReceivedPart> parts;               // Filled by pieces, in this order.
    std::size_t part = 0;                          // The first with pieces to come.
    std::size_t arrived = 0;                       // Bytes of the part, with a piece underway.
    std::int64_t heard_ms = kNow;  // Of waited_: the last message or the begin of the call.
    std::uint64_t last_round = 0;
    Call last_call = kGather;
    bool has_left = false;

    bool awaits_pieces() const { return part < parts.size(); }
  };
  // A time between the last look at the clock and the next.
  static constexpr std::int64_t kNow = -1;
  // Whether this process waits for a peer.
  using Awaited = belfry::detail::FunctionRef<bool(int)>;

  // The result of `step`. The first loss is the report of every later call.
  template <class F>
  auto noting_loss(const F& step) -> decltype(step()) {
    if (lost_) throw_error(*lost_);
    try {
      return step();
    } catch (const ProcessLostError& error) {
      if (!lost_) lost_ = error.report();
      throw;
    }
  }
  void begin_round(Call call, std::span<const std::byte> value);
  std::size_t in_first(std::size_t bytes) const;
  bool all_are_short(std::span<const std::byte> value) const;
  void release_slots();
  std::vector<belfry::detail::Bytes> rest_of_round(std::span<const std::byte> value);
  void send_pieces(std::span<const std::byte> value);
  void send_pieces(const SentPart& part);
  void exchange_pieces(std::span<const SentPart> sent, std::span<const ReceivedPart> received);
  void receive_piece(int process);
  void await_pieces();
  std::vector<belfry::detail::Bytes> values_of_round(std::span<const std::byte> value);
  void await(const Awaited& is_awaited);
  bool look();
  void take_notices();
  void give_up_silent(const Awaited& is_awaited, std::int64_t now);
  void give_up_ended();
  bool next_has_ended() const;
  Deadline patience() const;
  void require_nobody_left() const;
  void require_level();
  Call call_of(int process) const;

  [[noreturn]] void give_up(std::vector<int> lost, const std::string& reason);
  void tell_of(ErrorReport loss) const;
  void tell_of_wait(const std::vector<int>& silent);
  ErrorReport left_report(int process) const;
  ErrorReport lost_report(const std::vector<int>& lost, const std::string& reason,
                          int teller) const;
  std::vector<ReplicaReport> last_seen() const;
  std::string purpose_of(int process) const;

  MPI_Comm communicator_;
  Deadline deadline_;
  Deadline file_deadline_;
  bool waits_for_file_ = false;
  std::size_t piece_bytes_;
  int rank_ = 0;
  std::vector<Peer> peers_;                          // By rank; this process's own is unused.
  std::vector<std::span<const std::byte>> to_fold_;  // Keeps its memory from round to round.
  std::unique_ptr<Mailbox> mailbox_;
  std::unique_ptr<RoundSlots> slots_;
  std::unique_ptr<Liveness> liveness_;
  Deadline farewell_deadline_ = Deadline::never();
  WaitedTime waited_;
  bool has_told_of_wait_ = false;
  std::vector<std::string> hosts_;
  const belfry::detail::CallNames* names_ = nullptr;
  bool is_crowded_ = true;
  std::uint64_t round_ = 0;
  Call call_ = kGather;
  std::vector<int> lost_ranks_;
  std::optional<ErrorReport> lost_;  // The first loss: every later call throws the report.
  bool all_took_leave_ = false;
};

}  // namespace belfry::mpi
