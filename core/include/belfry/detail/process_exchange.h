// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/byte_stream.h"
#include "belfry/detail/function_ref.h"
#include "belfry/error.h"
#include "belfry/process_group.h"
#include "belfry/process_parts.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

namespace belfry::detail {

/// The message of a process in an exchange.
struct ProcessMessage {
  enum class Kind : std::uint8_t {
    kMake,    ///< Makes a strategy.
    kRound,   ///< A round of a run: the state of each replica of the process.
    kValues,  ///< The values of a verb.
    kFailed,  ///< The run, or the preparation of the run, has failed in this process.
    kListen,  ///< No replica of this process takes part in the run (SEM-212).
    kGroup,   ///< A call of the group, and no call of a strategy.
  };

  Kind kind = Kind::kValues;
  std::uint64_t strategy = 0;  ///< Its number in the group.
  std::string what;            ///< The verb, for kValues; the failure, for kFailed.
  std::string file{};
  int line = 0;
  int replica = -1;  ///< The failed replica; -1 if no replica failed.
  Bytes payload{};
  bool in_run = false;
  int transaction = 0;  ///< The depth of the transaction that the process ends; 0 for none.
};

/// An exchange of a run as a process hears it that takes no part in the run.
struct HeardExchange {
  bool nobody_speaks = false;     ///< No process takes part.
  bool ends_transaction = false;  ///< The processes end their innermost transaction.
  ProcessMessage::Kind kind = ProcessMessage::Kind::kRound;
  std::string what{};
  std::vector<Bytes> payloads{};  ///< By process; empty for processes that listen.
};

/// The exchanges of a strategy with the same strategy in all processes of a group. In each
/// exchange every process sends a message and gets all messages; all processes draw the same
/// conclusion. Context: the thread of the strategy's caller, while no replica can go on.
class ProcessExchange {
 public:
  /// Tells the number of replicas of this process, and compares `options`. Order: blocks the host.
  /// Throws: InvalidArgumentError (kInvalidArgument) in all processes if options differ; otherwise
  /// as `exchange`.
  ProcessExchange(ProcessGroup& group, int replicas, const std::string& options, CallSite site);

  ProcessGroup& group() const { return group_; }
  int rank() const { return group_.rank(); }
  int processes() const { return group_.size(); }
  /// Of all processes together.
  int replicas() const { return first_.back(); }
  /// The lowest replica of a process; process `processes()` gives the number of all replicas.
  int first_replica(int process) const { return first_[static_cast<std::size_t>(process)]; }
  /// Of each process, and then the number of all replicas.
  const std::vector<int>& first_replicas() const { return first_; }
  int process_of(int replica) const;

  // From begin_run to end_run, the first failed exchange ends all exchanges: later calls throw the
  // same exception and exchange nothing, since the other processes have left the run.
  void begin_run();
  void end_run();
  /// Whether all processes know the end of the run.
  bool is_closed() const { return state_ == State::kClosed; }
  /// The exception of the first failed exchange of this run; null if none has failed.
  const std::exception_ptr& failure() const { return failure_; }
  /// The replicas of all processes have returned.
  void close() { state_ = State::kClosed; }

  /// A round of a run: the payloads of all processes, in order of rank. `describe` gives the
  /// replicas of this process, for the report of a mismatch.
  /// Throws: PeerFailedError if another process has failed; ProcessLostError; MergeMismatchError if
  /// another process is in another strategy, or in no round.
  std::vector<Bytes> round(const Bytes& own, FunctionRef<Bytes()> describe);
  /// The same, but nothing if the payloads of all processes are equal to `own`.
  std::vector<Bytes> round_unless_equal(std::span<const std::byte> own,
                                        FunctionRef<Bytes()> describe);
  /// The values of a verb: the payloads of all processes. Throws: as round, MergeMismatchError also
  /// for another verb or place; UnsupportedError (kUnsupported) if some process listens.
  std::vector<Bytes> values(const char* what, CallSite site, const Bytes& own);
  /// The same for a verb that does without the processes that listen: their payloads are empty.
  std::vector<Bytes> values_of_speakers(const char* what, CallSite site, const Bytes& own);
  /// The parts that the group exchanges; null if the group has none.
  ProcessParts* parts() const { return parts_; }
  /// Exchanges parts (SEM-220). `failure` is an exception of the work before the exchange, or null.
  /// Throws: `failure` in this process, PeerFailedError in the others; as round.
  void exchange_parts(const std::exception_ptr& failure, std::span<const SentPart> sent,
                      std::span<const ReceivedPart> received);
  /// The next exchange of a run in which no replica of this process takes part. `answer` is for a
  /// message that asks for an answer. Throws: as round.
  HeardExchange listen(const Bytes& answer, CallSite site);

  // In a run, after its first exchange: which processes listen. Outside of runs no process listens.
  bool has_listeners() const;
  bool is_listener(int process) const {
    return static_cast<std::size_t>(process) < listens_.size() &&
           listens_[static_cast<std::size_t>(process)];
  }
  /// The lowest process that takes part; outside of runs, the process of replica 0.
  int first_speaker() const;
  bool speaks_first() const { return first_speaker() == rank(); }
  /// The replicas of the processes that listen, or of the other processes, in order.
  std::vector<int> replicas_of(bool listeners) const;
  /// Throws: UnsupportedError (kUnsupported) if some process listens.
  void require_no_listener(const char* what, CallSite site) const;

  /// Tells all processes, in place of the next exchange, of the failure of this process; does
  /// nothing after the end of the exchanges of a run. Never throws. Returns the cause: `thrown`, or
  /// the loss of a process if `thrown` is a lost device, whose work may wait for the process.
  std::exception_ptr tell_failure(const std::exception_ptr& thrown, int replica,
                                  CallSite site) noexcept;

  /// Notes that the variable with this number is made in other processes alone (SEM-237).
  void skip_variable(std::uint64_t number) { skipped_.push_back(number); }
  bool has_skipped(std::uint64_t number) const;

  // Transactions (SEM-236), from begin_transaction to leave_transaction. The first exchange in
  // which some process ends a transaction is the end of the transaction in all processes.
  void begin_transaction() { ++transactions_; }
  /// The function of the innermost transaction has returned in this process. Throws: as values, if
  /// the function has not returned in every process.
  void end_transaction(CallSite site);
  /// The same for a function that has thrown. Does nothing if all processes know the end of the
  /// transaction or of the run. Never throws.
  void end_failed_transaction(const std::exception_ptr& thrown, CallSite site) noexcept;
  void leave_transaction();

  /// Gives each replica of a report its process, and the report texts of its own for places.
  void complete(ErrorReport& report) const;
  /// Completes the report of a belfry error; returns exceptions of users unchanged.
  std::exception_ptr completed(std::exception_ptr thrown) const;

 private:
  enum class State : std::uint8_t { kIdle, kRunning, kClosed };

  using Describe = FunctionRef<Bytes()>;
  std::vector<ProcessMessage> exchange(const ProcessMessage& own,
                                       const Describe* describe = nullptr);
  std::vector<ProcessMessage> make(const Bytes& own, CallSite site);
  void require_open(CallSite site) const;
  std::vector<ProcessMessage> understand(const ProcessMessage& own, std::vector<Bytes> sent,
                                         const Describe* describe);
  template <class F>
  auto ending_run_of(const F& step) -> decltype(step());
  void note_listeners(const std::vector<ProcessMessage>& all);
  void note_transaction(const std::vector<ProcessMessage>& all);
  void require_equal(const std::vector<ProcessMessage>& all, const Describe* describe);
  [[noreturn]] void throw_peer_failed(const std::vector<ProcessMessage>& all) const;
  std::string words_of(std::uint64_t strategy) const;
  [[noreturn]] void throw_mismatch(const std::vector<ProcessMessage>& all,
                                   const std::vector<Bytes>& rounds) const;

  ProcessGroup& group_;
  ProcessParts* parts_;
  std::uint64_t number_;
  std::vector<int> first_;
  std::vector<bool> listens_;           // By process, in the present run.
  std::vector<std::uint64_t> skipped_;  // In ascending order.
  Bytes round_message_;  // Of a round that is left out if equal: only its payload changes.
  std::size_t round_head_ = 0;
  State state_ = State::kIdle;
  std::exception_ptr failure_{};
  int transactions_ = 0;  // The depth of the innermost.
  int over_from_ = 0;     // All processes know the end of transactions from this depth; 0: of none.
};

}  // namespace belfry::detail
