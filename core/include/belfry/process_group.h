// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/prints.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace belfry {

/// The longest time that a call waits for another process without a sign of life of the process
/// (SEM-207). No conversion from numbers: the unit is in the name.
class Deadline {
 public:
  /// Throws: InvalidArgumentError (kInvalidArgument) for numbers below 1, and for numbers above a
  /// hundred years.
  static Deadline milliseconds(std::int64_t count, CallSite site = CallSite::here());
  /// As milliseconds.
  static Deadline seconds(std::int64_t count, CallSite site = CallSite::here());
  /// No limit: a call waits for a silent process for ever.
  static constexpr Deadline never() { return Deadline(kNever); }

  /// Whether there is no limit.
  constexpr bool is_never() const { return milliseconds_ == kNever; }
  /// The limit in milliseconds; the largest number without a limit.
  constexpr std::int64_t as_milliseconds() const { return milliseconds_; }
  friend constexpr bool operator==(const Deadline&, const Deadline&) = default;

 private:
  static constexpr std::int64_t kNever = INT64_MAX;

  explicit constexpr Deadline(std::int64_t count) : milliseconds_(count) {}

  std::int64_t milliseconds_;
};

/// C++ that compiles: `belfry::Deadline::milliseconds(1500)`, `belfry::Deadline::seconds(60)`,
/// `belfry::Deadline::never()`.
std::string to_string(const Deadline& deadline);

/// The knowledge of a process about its group, without waiting (SEM-206).
struct GroupHealth {
  std::vector<int> lost{};  ///< The ranks of processes that are known to be lost, ascending.
  std::string reason{};     ///< The text of the error that later calls throw; empty without one.
  /// A call of the group throws within this time after the last sign of life of a lost process. A
  /// group that measures no time has no limit.
  Deadline deadline = Deadline::never();

  /// Whether no process is known to be lost: calls of the group do not throw at once.
  bool is_whole() const { return lost.empty() && reason.empty(); }
};

/// `whole, deadline 60 s`; `process 1 lost, deadline 60 s`.
std::string to_string(const GroupHealth& health);

namespace detail {

/// The deadline in a sentence: `1500 ms`, `60 s`, `no limit`.
std::string words_of(const Deadline& deadline);

/// The purposes of the exchanges of a group.
struct CallNames {
  struct Name {
    const char* what = nullptr;  ///< `all_reduce`; null for a call of the program.
    CallSite site{};
  };
  Name next{};
  Name present{};
  Name previous{};

  void begin() {
    previous = present;
    present = std::exchange(next, {});
  }
};
/// `all_reduce at train.cpp:31`, or `otherwise` for a call without a name.
std::string text_of(const CallNames::Name& name, const std::string& otherwise);

}  // namespace detail

/// The outcome of `ProcessGroup::fold`: the result, or the bytes of all processes.
struct FoldedBytes {
  /// The result of the fold; null if the fold made nothing of the bytes.
  std::shared_ptr<const std::vector<std::byte>> result{};
  std::vector<std::vector<std::byte>> all{};  ///< In order of rank; empty with a result.
};

/// A group of processes, as one of them sees it: for a MultiWorkerMirroredStrategy, and for
/// exchanges of bytes between its runs (SEM-150).
///
///     mpi::Group group{argc, argv};
///     group.first([] { make_folder(); });    // On process 0; the others wait.
///     group.barrier();
///
/// All processes make the same calls of a group in the same order. A group is for one thread at a
/// time. Errors of every exchange:
/// - ProcessLostError (kProcessLost) if a process has left the group, or has been silent for the
///   deadline of the group; every later call throws the error again;
/// - MergeMismatchError (kMergeKinds) in all processes if the calls differ. The group stays usable.
class ProcessGroup {
 public:
  ProcessGroup() = default;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  virtual ~ProcessGroup() = default;

  /// The number of this process, from 0 to size() - 1.
  virtual int rank() const = 0;
  virtual int size() const = 0;  ///< The number of processes.
  /// Gives every process the bytes of all processes, in order of rank. Lengths may differ.
  /// Order: blocks the host until all processes have called.
  virtual std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) = 0;
  /// Makes a result of the bytes of all processes, in order of rank, or nothing. The result depends
  /// on the bytes alone: a group calls the function in one process or in several. Throws nothing.
  using Fold = detail::FunctionRef<std::optional<std::vector<std::byte>>(
      std::span<const std::span<const std::byte>>)>;
  /// Gives every process what `fold` makes of the bytes of all processes, or the bytes if `fold`
  /// makes nothing of them. The call meets `gather`: while some process gathers, the others get the
  /// result or the bytes. The default gathers, and folds in every process; a group that folds once
  /// for all replaces the default.
  /// Order: blocks the host until all processes have called.
  virtual FoldedBytes fold(std::span<const std::byte> bytes, Fold fold);
  /// Gives every process the bytes of process `from`; the bytes of all others are ignored.
  /// Order: blocks the host until all processes have called.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a rank outside the group, before anything
  /// is exchanged.
  virtual std::vector<std::byte> broadcast(std::span<const std::byte> bytes, int from) = 0;

  /// The name of the host of a process, for messages: equal in all processes, no address. The
  /// default is `localhost`.
  /// Order: does not block.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a rank outside the group.
  virtual std::string host_name(int process) const;
  /// The present knowledge of this process, without an exchange; never throws for a lost process.
  /// The default knows of no loss and has no limit.
  /// Order: does not block.
  virtual GroupHealth health();

  /// This process in a message: `process 1 of 3 on host b`.
  std::string description() const;
  /// Changes the deadline for all later calls. Groups that measure no time compare the deadlines
  /// and ignore them.
  /// Order: blocks the host until all processes have called.
  /// Throws: InvalidArgumentError (kInvalidArgument) in all processes if the deadlines differ; the
  /// old deadline stays.
  void set_deadline(Deadline deadline, CallSite site = CallSite::here());
  /// Waits for all processes.
  /// Order: blocks the host until all processes have called.
  /// Throws: MergeMismatchError (kMergePlaces) in all processes if they are at different places.
  void barrier(CallSite site = CallSite::here());
  /// Calls `function` on process 0, while all others wait.
  /// Order: blocks the host until process 0 has returned from `function`, which must take less time
  /// than the deadline.
  /// Throws: on process 0 the exception of `function`; on all others then PeerFailedError
  /// (kPeerFailed) with its text.
  template <class F>
  void first(F&& function, CallSite site = CallSite::here()) {
    call_first(std::ref(function), site);
  }

  /// For belfry itself: the number of the next strategy of this group, which is made at `site`.
  std::uint64_t next_strategy(CallSite site) {
    strategies_.push_back(site);
    return strategies_.size() - 1;
  }
  /// For belfry itself: the place of a strategy of this group; empty for a number beyond the last.
  CallSite site_of_strategy(std::uint64_t number) const {
    return number < strategies_.size() ? strategies_[number] : CallSite{};
  }
  /// For belfry itself: the purpose of the next exchange. `what` and the file are literals.
  void name_call(const char* what, CallSite site) { calls_.next = {what, site}; }

  /// For belfry itself: while the object lives, calls wait for a process that saves or reads a
  /// file.
  class FileWait {
   public:
    /// The wait begins.
    explicit FileWait(ProcessGroup& group) : group_(group) { group_.do_wait_for_file(true); }
    FileWait(const FileWait&) = delete;
    FileWait& operator=(const FileWait&) = delete;
    ~FileWait() { group_.do_wait_for_file(false); }

   private:
    ProcessGroup& group_;
  };

 protected:
  /// Applies a deadline that is equal in all processes. The default ignores the deadline.
  virtual void do_set_deadline(Deadline deadline);
  /// The purposes of exchanges, for reports about lost processes. A group with such reports calls
  /// `begin` in each exchange.
  detail::CallNames& calls() { return calls_; }
  /// Begins or ends a time in which some process saves or reads a file, and may be silent for
  /// longer than the deadline. Never throws. The default does nothing.
  virtual void do_wait_for_file(bool is_underway);

 private:
  void call_first(const std::function<void()>& function, CallSite site);

  std::vector<CallSite> strategies_;  // By number.
  detail::CallNames calls_;
};

/// The group of a lone program: process 0 of 1. No call waits.
class SingleProcess final : public ProcessGroup {
 public:
  /// `host` is the name for messages.
  explicit SingleProcess(std::string host = "localhost") : host_(std::move(host)) {}

  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override;
  std::vector<std::byte> broadcast(std::span<const std::byte> bytes, int from) override;
  std::string host_name(int process) const override;

 private:
  std::string host_;
};

namespace detail {

/// Throws: InvalidArgumentError (kInvalidArgument) unless `process` is a rank of `group`. `what` is
/// the refused call, such as `broadcast from`.
void require_rank(const ProcessGroup& group, int process, const char* what = "broadcast from");

}  // namespace detail
}  // namespace belfry
