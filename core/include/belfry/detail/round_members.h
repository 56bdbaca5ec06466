// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/byte_stream.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/participants.h"
#include "belfry/process_group.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace belfry::detail {

class StrategyCore;
struct RunFacts;

/// Writes the message of this process in an exchange.
using WriteMessage = FunctionRef<void(ByteWriter&)>;

/// A transaction of all members (SEM-236), until the end of the object. The first exchange in which
/// some process ends a transaction is the end of the transaction in all processes. This class is
/// the transaction of a process alone.
class MembersTransaction {
 public:
  MembersTransaction() = default;
  MembersTransaction(const MembersTransaction&) = delete;
  MembersTransaction& operator=(const MembersTransaction&) = delete;
  virtual ~MembersTransaction() = default;

  /// The function of the transaction, the innermost, has returned in this process. Order: blocks
  /// the host until the function has ended in all processes. Throws: PeerFailedError if the
  /// function has thrown in another process; as RoundMembers::exchange.
  virtual void commit() {}
  /// The function, or `commit`, has thrown. Order: as commit.
  virtual void fail(const std::exception_ptr& /*thrown*/) noexcept {}
};

/// The members of the rounds of a strategy: the processes whose replicas meet in the runs of the
/// strategy, and which make its calls together. All members make the same calls in the same order,
/// and draw the same conclusions.
///
/// An object of this class is the set of one member: this process alone. Its verbs exchange
/// nothing. GroupMembers are the processes of a group. No verb uses anything outside its object, so
/// that the rounds of two sets are independent.
/// Context: the thread of the strategy's caller, while no replica can go on.
class RoundMembers {
 public:
  /// This process alone, with `replicas` replicas.
  explicit RoundMembers(int replicas) : RoundMembers(ProcessTable{{0, replicas}, 0}) {}
  RoundMembers(const RoundMembers&) = delete;
  RoundMembers& operator=(const RoundMembers&) = delete;
  virtual ~RoundMembers() = default;

  /// Whether this process is the only member.
  bool is_alone() const { return processes() == 1; }
  int rank() const { return table_.own; }
  int processes() const { return static_cast<int>(table_.first.size()) - 1; }
  /// Of all processes together.
  int replicas() const { return table_.first.back(); }
  /// The lowest replica of a process; process `processes()` gives the number of all replicas.
  int first_replica(int process) const { return table_.first[static_cast<std::size_t>(process)]; }
  int process_of(int replica) const { return table_.process_of(replica); }
  const ProcessTable& table() const { return table_; }
  /// Throws: UnsupportedError (kUnsupported) for several processes: `what` is for one process alone
  /// (SEM-156).
  void require_alone(const char* what, CallSite site) const {
    if (!is_alone()) [[unlikely]] {
      refuse_processes(what, site);
    }
  }

  // Runs. From begin_run to end_run, the first failed exchange ends all exchanges: later calls
  // throw the same exception and exchange nothing, since the other processes have left the run.
  virtual void begin_run() {}
  virtual void end_run() {}
  /// Agrees on a round, in which no replica of this process can go on: whether a merge of all
  /// follows. Merges of groups over processes are executed before (SEM-288). One process agrees
  /// with itself on every round. Order: blocks the host until all processes are in the round.
  /// Throws: MergeMismatchError in every process alike if the merges of two processes do not belong
  /// together, or if some replicas have ended and others wait; PeerFailedError if another process
  /// has failed; ProcessLostError.
  virtual bool agree(const RunFacts& /*own*/, CallSite /*run*/) { return true; }
  /// The part of this process in a run in which none of its replicas takes part: joins every
  /// exchange, and gives the mirrored variables of this process their new values (SEM-212).
  /// Order: blocks the host until the replicas of all processes have ended.
  /// Throws: InvalidArgumentError (kInvalidArgument) if no replica of any process takes part; as
  /// agree and exchange; the failure of the run.
  virtual void listen(StrategyCore& core, CallSite site);

  /// Exchanges the values of the verb `what`, a literal, and folds the messages of all processes:
  /// the result of `fold`, or else the messages in order of rank, if a process listens or if `fold`
  /// throws or makes nothing. Without a fold (null), and in a process alone, the messages. Messages
  /// of processes that listen are empty. Order: blocks the host until all processes have called.
  /// Throws: as agree; MergeMismatchError also for another verb or place. An exception of `write`
  /// is thrown here, and told to the other processes.
  virtual FoldedBytes exchange_to_fold(const char* what, CallSite site, WriteMessage write,
                                       const ProcessGroup::Fold* fold);
  /// The same without a fold.
  std::vector<Bytes> exchange(const char* what, CallSite site, WriteMessage write) {
    return exchange_to_fold(what, site, write, nullptr).all;
  }
  std::vector<Bytes> exchange(const char* what, CallSite site, const Bytes& own);
  /// The same for a verb of all processes. Throws: also UnsupportedError (kUnsupported) if some
  /// process listens.
  std::vector<Bytes> exchange_of_all(const char* what, CallSite site, const Bytes& own);
  /// The message of process `from` in an exchange; `write` writes nothing in the others. Order,
  /// Throws: as exchange.
  std::shared_ptr<const Bytes> exchange_to_hear(const char* what, CallSite site, int from,
                                                WriteMessage write);
  /// The messages if two processes differ; nothing if the messages of all processes that do not
  /// listen are equal. `write` is not called in a process alone. Order, Throws: as exchange.
  std::vector<Bytes> exchange_to_compare(const char* what, CallSite site, WriteMessage write);

  // The processes that take part in the present run; the others listen. Known after the first
  // exchange of a run. Outside of runs no process listens.
  bool has_listeners() const { return listeners_ > 0; }
  bool is_listener(int process) const {
    return static_cast<std::size_t>(process) < listens_.size() &&
           listens_[static_cast<std::size_t>(process)];
  }
  /// The lowest process that takes part; outside of runs, the process of replica 0.
  int first_speaker() const;
  bool speaks_first() const { return is_alone() || first_speaker() == rank(); }
  /// The replicas of the processes that take part, and of those that listen.
  Participants replicas_of_speakers() const;
  std::vector<int> replicas_of_listeners() const { return replicas_of(true); }
  /// Throws: UnsupportedError (kUnsupported) if some process listens.
  void require_no_listener(const char* what, CallSite site) const;

  /// Tells all processes, in place of the next exchange, of the failure of this process; does
  /// nothing after the end of the exchanges of a run. `replica` is the failed replica, or -1.
  /// Returns the cause: `thrown`, or the loss of a process if `thrown` is a lost device, whose work
  /// may wait for the process.
  virtual std::exception_ptr tell_failure(const std::exception_ptr& thrown, int replica,
                                          CallSite site) noexcept;
  /// In a handler: the same for the exception in flight, of no replica.
  void tell_failure(CallSite site) noexcept { tell_failure(std::current_exception(), -1, site); }
  /// The exception with the process of each replica in its report, if there are several processes.
  virtual std::exception_ptr completed(std::exception_ptr thrown) const { return thrown; }

  /// Begins a transaction of all members. Order: blocks the host if some process listens. Throws:
  /// as exchange.
  virtual std::unique_ptr<MembersTransaction> begin_transaction(CallSite site);

 protected:
  explicit RoundMembers(ProcessTable table) : table_(std::move(table)) {}

  void set_table(ProcessTable table) { table_ = std::move(table); }
  /// For each process whether it listens; an empty list outside of runs.
  void set_listeners(std::vector<bool> listens) {
    listens_ = std::move(listens);
    listeners_ = std::ranges::count(listens_, true);
  }

 private:
  std::vector<int> replicas_of(bool listeners) const;
  [[noreturn]] static void refuse_processes(const char* what, CallSite site);

  ProcessTable table_;
  std::vector<bool> listens_{};  // By process, in the present run.
  std::ptrdiff_t listeners_ = 0;
};

}  // namespace belfry::detail
