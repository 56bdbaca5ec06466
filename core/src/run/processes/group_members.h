// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/process_parts.h"
#include "belfry/detail/round_members.h"
#include "belfry/error.h"
#include "belfry/process_group.h"
#include "run/processes/process_messages.h"
#include "run/rounds/merge_digest.h"
#include "run/rounds/run_picture.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {

// The verb at the begin of a transaction, for listening processes.
inline constexpr const char* kBeginTransaction = "transaction: the begin";
// The verb after a merge of a group, for processes without a member.
inline constexpr const char* kEndOfGroupMerge = "the end of a merge of a group";

/// What a process listens to: a run without replicas of the process, or a merge of a group without
/// members in the process.
enum class ListensTo : std::uint8_t { kRun, kGroupMerge };

/// An exchange of a run, as heard by a listening process.
struct HeardExchange {
  bool nobody_speaks = false;     ///< No process takes part.
  bool ends_transaction = false;  ///< The processes end their innermost transaction.
  ProcessMessage::Kind kind = ProcessMessage::Kind::kRound;
  std::string what{};
  std::vector<Bytes> payloads{};  ///< By process; empty for listening processes.
};

/// The processes of a group as the members of the rounds of one strategy. In each exchange every
/// process sends a message and gets all messages; all processes draw the same conclusion.
class GroupMembers final : public RoundMembers {
 public:
  /// Tells the number of replicas of this process, and compares `options`. Order: blocks the host.
  /// Throws: InvalidArgumentError (kInvalidArgument) in all processes if options differ; otherwise
  /// as `exchange`.
  GroupMembers(ProcessGroup& group, int replicas, const std::string& options, CallSite site);

  ProcessGroup& group() const { return group_; }

  void begin_run() override;
  void end_run() override;
  /// Whether all processes know the end of the run.
  bool is_closed() const { return state_ == State::kClosed; }
  /// The replicas of all processes have returned.
  void close() { state_ = State::kClosed; }

  bool agree(const RunFacts& own, CallSite run) override;
  /// The outcome of a round, after the descriptions of all processes: the groups whose merges
  /// follow; without groups, a merge of all follows unless the exchanges are closed. Closes the
  /// exchanges if all replicas have returned, and if the round has failed. Throws: as agree.
  std::vector<Participants> agree_on_descriptions(const std::vector<Bytes>& descriptions);
  void listen(StrategyCore& core, CallSite site) override;
  /// The next exchange, heard by a listening process. `answer` is for a message with a question.
  /// Throws: as agree.
  HeardExchange hear(ListensTo to, const Bytes& answer, CallSite site);

  FoldedBytes exchange_to_fold(const char* what, CallSite site, WriteMessage write,
                               const ProcessGroup::Fold* fold) override;
  /// Values of the latest round: the result of the fold, or the messages, with values from byte
  /// `values_at()` on. Empty if a process with replicas in the run has sent no values.
  std::optional<FoldedBytes> take_values_of_round() { return std::exchange(round_values_, {}); }
  std::size_t values_at() const { return round_summary_; }
  /// The exchange of parts of the group; null if the group has none.
  ProcessParts* parts() const { return parts_; }
  /// Exchanges parts (SEM-220). `failure` is an exception of the work before the exchange, or null.
  /// Throws: `failure` in this process, PeerFailedError in the others; as exchange.
  void exchange_parts(const std::exception_ptr& failure, std::span<const SentPart> sent,
                      std::span<const ReceivedPart> received);

  using RoundMembers::tell_failure;
  std::exception_ptr tell_failure(const std::exception_ptr& thrown, int replica,
                                  CallSite site) noexcept override;

  /// Notes a variable of the other processes alone (SEM-237), by its number.
  void skip_variable(std::uint64_t number) { skipped_.push_back(number); }
  bool has_skipped(std::uint64_t number) const;

  std::unique_ptr<MembersTransaction> begin_transaction(CallSite site) override;
  /// The begin of a transaction, as heard by a listening process, and the end.
  void begin_heard_transaction() { ++transactions_; }
  void leave_transaction() noexcept;

  /// Gives each replica of a report its process, and the report texts of its own for places.
  void complete(ErrorReport& report) const;
  std::exception_ptr completed(std::exception_ptr thrown) const override;

 private:
  class Transaction;
  enum class State : std::uint8_t { kIdle, kRunning, kClosed };

  using Describe = FunctionRef<Bytes()>;
  // The merges of groups, in the order of `groups` in all processes. Returns whether replicas here
  // go on, or the run has failed.
  bool merge_groups(const RunFacts& own, const std::vector<Participants>& groups, CallSite run);
  void listen_to_group_merge(CurrentContext& cross, CallSite site);
  // Exchanges the summaries of a round, and RoundSummary::descriptions.
  RoundState begin_to_agree(const RunFacts& own, CallSite run, Describe describe,
                            std::vector<Bytes>& descriptions);
  // A round of a run: the payloads of all processes, in order of rank. `describe` gives the
  // replicas of this process, for the report of a mismatch.
  std::vector<Bytes> round(const Bytes& own, Describe describe);
  // Begins round_message_ with a summary. The caller may append the values of a merge that
  // follows equal summaries.
  void begin_round(std::span<const std::byte> summary);
  // Returns the payloads of all processes, without values; nothing for equal summaries. `fold` is
  // for the values; null if the process needs all values.
  std::vector<Bytes> finish_round(RoundState own, const ProcessGroup::Fold* fold,
                                  Describe describe);
  // Sends a message whose payload begins behind `head`.
  ProcessMessage head_of_round() const;
  FoldedBytes fold_payloads(FunctionRef<ProcessMessage()> own, std::span<const std::byte> message,
                            std::size_t head, const ProcessGroup::Fold* fold,
                            const Describe* describe);
  std::vector<ProcessMessage> send(const ProcessMessage& own, const Describe* describe = nullptr);
  FoldedBytes make(const Bytes& own, CallSite site);
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
  MergeDigest digest_;
  std::vector<std::uint64_t> skipped_;  // In ascending order.
  ByteWriter round_message_;            // The head stays from round to round.
  std::size_t round_head_ = 0;
  std::size_t round_summary_ = 0;
  std::optional<FoldedBytes> round_values_;
  State state_ = State::kIdle;
  std::exception_ptr failure_{};  // Of the first failed exchange of this run; null if none failed.
  int transactions_ = 0;          // The depth of the innermost.
  int over_from_ = 0;  // All processes know the end of transactions from this depth; 0: of none.
};

/// The members of a strategy over several processes. Throws: InternalError for a process alone.
GroupMembers& group_members(StrategyCore& core);

}  // namespace belfry::detail
