// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/thread_group.h"

#include "belfry/backend/process_parts.h"
#include "belfry/detail/byte_stream.h"
#include "belfry/detail/group_reports.h"
#include "belfry/error.h"
#include "belfry/testing/watchdog.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace belfry::testing {
namespace {

using Bytes = std::vector<std::byte>;

// The call of one thread, on its way to the meeting of all threads.
struct Call {
  std::string name;  // `gather`, `broadcast from process 2`.
  Bytes bytes;
};

// The result of a meeting, for all threads. Each thread throws an exception of its own.
struct MemberOutcome {
  std::vector<Bytes> bytes;
  std::optional<ErrorReport> error;
};

// The calls of all threads meet here.
class Meeting {
 public:
  explicit Meeting(int processes) : calls_(static_cast<std::size_t>(processes)) {}

  int size() const { return static_cast<int>(calls_.size()); }

  std::vector<Bytes> meet(int rank, Call call) {
    std::unique_lock lock(mutex_);
    if (lost_) throw_error(*lost_);
    calls_[static_cast<std::size_t>(rank)] = std::move(call);
    const std::shared_ptr<MemberOutcome> mine = outcome_;
    if (++arrived_ == size()) {
      conclude();
    } else {
      moved_.wait(lock, [&] { return outcome_ != mine || lost_.has_value(); });
      // A completed meeting counts, also if a thread has left since.
      if (outcome_ == mine) throw_error(*lost_);
    }
    if (mine->error) throw_error(*mine->error);
    return mine->bytes;
  }

  // The first thread to leave ends all later meetings.
  void leave(int rank, const std::exception_ptr& thrown) {
    const std::lock_guard lock(mutex_);
    if (!lost_) lost_ = describe(rank, thrown);
    left_.push_back(rank);
    moved_.notify_all();
  }

  GroupHealth health() {
    const std::lock_guard lock(mutex_);
    GroupHealth health;
    health.lost = left_;
    std::ranges::sort(health.lost);
    if (lost_) health.reason = to_string(*lost_);
    return health;
  }

 private:
  void conclude() {
    MemberOutcome& outcome = *outcome_;
    for (std::optional<Call>& call : calls_) {
      if (call->name != calls_.front()->name && !outcome.error) {
        outcome.error = difference();
      }
    }
    for (std::optional<Call>& call : calls_) {
      outcome.bytes.push_back(std::move(call->bytes));
      call.reset();
    }
    arrived_ = 0;
    outcome_ = std::make_shared<MemberOutcome>();
    moved_.notify_all();
  }

  ErrorReport difference() const {
    std::vector<std::string> names;
    for (const std::optional<Call>& call : calls_) names.push_back(call->name);
    return detail::calls_differ(names);
  }

  static ErrorReport describe(int rank, const std::exception_ptr& thrown) {
    std::string reason;
    if (thrown != nullptr) {
      try {
        std::rethrow_exception(thrown);
      } catch (const std::exception& error) {
        reason = "it threw " + std::string(error.what());
      } catch (...) {
        reason = "it threw";
      }
    }
    return detail::process_left(rank, reason);
  }

  std::mutex mutex_;
  std::condition_variable moved_;
  std::vector<std::optional<Call>> calls_;
  int arrived_ = 0;
  std::shared_ptr<MemberOutcome> outcome_ = std::make_shared<MemberOutcome>();
  std::optional<ErrorReport> lost_;
  std::vector<int> left_;  // In the order of leaving.
};

// The message of a process in an exchange of parts: whether the process is ready, and then its
// parts, each with its receiver.
Bytes message_of(bool is_ready, std::span<const SentPart> sent) {
  detail::ByteWriter out;
  out.put(is_ready);
  for (const SentPart& part : sent) {
    out.put(part.to);
    out.put(static_cast<std::uint64_t>(part.count));
    out.add(part.bytes.get(), part.count);
  }
  return out.bytes();
}

// The next part for process `rank`.
std::span<const std::byte> next_part(detail::ByteReader& in, int rank) {
  while (true) {
    const int to = in.get<int>();
    const auto count = in.get<std::uint64_t>();
    const std::byte* const bytes = in.skip(count);
    if (to == rank) return {bytes, count};
  }
}

class Member final : public ProcessGroup, public ProcessParts {
 public:
  Member(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return meeting_.size(); }
  std::vector<Bytes> gather(std::span<const std::byte> bytes) override {
    return meeting_.meet(rank_, {"gather", {bytes.begin(), bytes.end()}});
  }
  Bytes broadcast(std::span<const std::byte> bytes, int from) override {
    detail::require_rank(*this, from);
    Bytes own;
    if (rank_ == from) own.assign(bytes.begin(), bytes.end());
    const std::string name = "broadcast from process " + std::to_string(from);
    return meeting_.meet(rank_, {name, std::move(own)})[static_cast<std::size_t>(from)];
  }
  std::string host_name(int process) const override {
    detail::require_rank(*this, process, "the host of");
    return "host" + std::to_string(process);
  }
  GroupHealth health() override { return meeting_.health(); }
  // Tests of reductions have shorter and longer tensors.
  std::size_t least_bytes() const override { return 256; }
  bool exchange_parts(bool is_ready, std::span<const SentPart> sent,
                      std::span<const ReceivedPart> received) override {
    const std::vector<Bytes> all =
        meeting_.meet(rank_, {"exchange of parts", message_of(is_ready, sent)});
    bool all_ready = true;
    std::vector<detail::ByteReader> messages(all.begin(), all.end());
    for (detail::ByteReader& message : messages) all_ready = message.get<bool>() && all_ready;
    if (!all_ready) return false;
    for (const ReceivedPart& part : received) {
      const auto bytes = next_part(messages[static_cast<std::size_t>(part.from)], rank_);
      check(bytes.size() == part.count, "parts of different sizes");
      std::ranges::copy(bytes, part.bytes.get());
    }
    return true;
  }

 private:
  Meeting& meeting_;
  int rank_;
};

}  // namespace

void run_processes(int processes, const std::function<void(ProcessGroup&)>& body) {
  Meeting meeting(processes);
  const WatchdogOptions watched = Watchdog::options_of_thread();
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(processes));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < processes; ++rank) {
    threads.emplace_back([&, rank] {
      const Watchdog watchdog(watched);
      std::exception_ptr& own = thrown[static_cast<std::size_t>(rank)];
      Member member(meeting, rank);
      try {
        body(member);
      } catch (...) {
        own = std::current_exception();
      }
      meeting.leave(rank, own);
    });
  }
  threads.clear();
  detail::rethrow_cause(thrown);
}

}  // namespace belfry::testing
