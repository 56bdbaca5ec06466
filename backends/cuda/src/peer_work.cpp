// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "peer_work.h"

#include "belfry/backend/current_slot.h"
#include "belfry/detail/flight_ring.h"
#include "belfry/detail/group_reports.h"
#include "belfry/error.h"
#include "shared_state.h"

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace belfry::cuda {
namespace {

constexpr int kPollsAtOnce = 256;  // Then the thread sleeps between two polls.
constexpr std::chrono::microseconds kNap{50};
// A process ends in order after its part of all collectives: the end is then no loss, because the
// part of this process ends soon.
constexpr std::chrono::milliseconds kMostGrace{1000};
constexpr int kGraceShare = 10;  // Of the limit.

std::chrono::milliseconds limit_of(const Peers& peers, const GroupHealth& health) {
  if (health.deadline.is_never()) return peers.deadline;
  return std::min(peers.deadline, std::chrono::milliseconds(health.deadline.as_milliseconds()));
}

[[noreturn]] void throw_lost(const char* what, const GroupHealth& health) {
  ErrorReport report;
  report.code = ErrorCode::kProcessLost;
  report.summary = (health.lost.empty() ? "a process" : detail::processes_text(health.lost)) +
                   " of a communicator is lost, and " + what + " does not end";
  report.expected = health.reason;
  report.hint =
      "the communicator is aborted: results of its last collectives are lost; start again "
      "from a checkpoint";
  throw ProcessLostError(std::move(report));
}

[[noreturn]] void throw_late(const char* what, std::chrono::milliseconds limit) {
  throw DeviceError(ErrorCode::kDeviceLost,
                    std::string(what) + " did not end within " + std::to_string(limit.count()) +
                        " ms: other processes have not done their part",
                    "a process is lost or slow; the limit is the deadline of the backend or of the "
                    "group, whichever is shorter");
}

}  // namespace

void PeerWait::pause(const char* what) {
  const GroupHealth health = peers_.health();
  const std::chrono::milliseconds limit = limit_of(peers_, health);
  const Clock::time_point now = Clock::now();
  if (!health.is_whole() && !first_loss_) first_loss_ = now;
  const auto grace = std::min(kMostGrace, limit / kGraceShare);
  if (first_loss_ && now - *first_loss_ >= grace) throw_lost(what, health);
  if (now - begin_ > limit) throw_late(what, limit);
  if (++polls_ < kPollsAtOnce) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(kNap);
  }
}

PeerWork::PeerWork(SharedState& shared, Peers peers, Clique clique)
    : shared_(shared), peers_(std::move(peers)), clique_(std::move(clique)) {}

bool PeerWork::is_done() const {
  const std::lock_guard lock(mutex_);
  return clique_.is_done == nullptr || failure_ != nullptr || clique_.is_done();
}

void PeerWork::require_usable() const {
  const std::lock_guard lock(mutex_);
  if (clique_.is_done != nullptr && failure_ != nullptr) std::rethrow_exception(failure_);
}

void PeerWork::check() {
  const std::unique_lock order(shared_.launch_order, std::try_to_lock);
  if (!order.owns_lock()) return;
  const std::lock_guard lock(mutex_);
  if (clique_.check != nullptr && failure_ == nullptr) clique_.check();
}

void PeerWork::give_up(const std::exception_ptr& thrown) noexcept {
  const std::lock_guard order(shared_.launch_order);
  const std::lock_guard lock(mutex_);
  if (clique_.abort == nullptr || failure_ != nullptr) return;
  failure_ = thrown;
  clique_.abort();
}

void PeerWork::fail(const std::exception_ptr& thrown) noexcept {
  const std::lock_guard lock(mutex_);
  if (failure_ == nullptr) failure_ = thrown;
}

void PeerWork::end() noexcept {
  const std::lock_guard lock(mutex_);
  clique_ = {};
}

namespace {

void write_flights(SharedState& shared, const ErrorReport& report) noexcept {
  FlightRecorder* const recorder = shared.options.recorder;
  const bool is_late = report.code == ErrorCode::kDeviceLost;
  if (recorder != nullptr) {
    recorder->ring().write_failure(is_late ? "deadline" : "failure", report);
  }
}

// The operations that have not ended, in words.
std::string open_calls(SharedState& shared) {
  FlightRecorder* const recorder = shared.options.recorder;
  const std::string calls = recorder == nullptr ? "" : recorder->ring().open_calls();
  return calls.empty() ? calls : "; open: " + calls;
}

// Adds the open operations to an error of `work`, and writes the files of the recorder.
void with_open_calls(SharedState& shared, detail::FunctionRef<void()> work) {
  try {
    work();
  } catch (const Error& error) {
    ErrorReport report = error.report();
    report.summary += open_calls(shared);
    write_flights(shared, report);
    throw_error(std::move(report));
  }
}

// Communicators of several GPUs may be what the work waits for: they are aborted.
[[noreturn]] void give_up_work(SharedState& shared) {
  ErrorReport report;
  report.code = ErrorCode::kDeviceLost;
  report.summary = "work of a device did not end within " +
                   std::to_string(shared.options.work_deadline.count()) + " ms" +
                   open_calls(shared);
  report.site = detail::submitting_site();
  report.hint =
      "a kernel or a collective hangs or is slow; the files of a flight recorder name the open "
      "collectives; the limit is work_deadline";
  write_flights(shared, report);
  const auto thrown = std::make_exception_ptr(DeviceError(std::move(report)));
  for (const std::shared_ptr<PeerWork>& work : shared.peer_works.all()) work->give_up(thrown);
  std::rethrow_exception(thrown);
}

void await_work(SharedState& shared, detail::FunctionRef<bool()> is_done) {
  const std::chrono::milliseconds limit = shared.options.work_deadline;
  if (limit.count() == 0) return;
  const auto end = std::chrono::steady_clock::now() + limit;
  for (int polls = 0; !is_done(); ++polls) {
    if (std::chrono::steady_clock::now() > end) give_up_work(shared);
    polls < kPollsAtOnce ? std::this_thread::yield() : std::this_thread::sleep_for(kNap);
  }
}

}  // namespace

void await_peers(SharedState& shared, detail::FunctionRef<bool()> is_done) {
  if (shared.peer_works.is_empty()) [[likely]] {
    return await_work(shared, is_done);
  }
  const std::vector<std::shared_ptr<PeerWork>> works = shared.peer_works.all();
  for (const std::shared_ptr<PeerWork>& work : works) {
    if (!work->peers().are_processes) continue;
    PeerWait wait(work->peers());
    const auto poll = [&] {
      while (!work->is_done() && !is_done()) {
        work->check();
        wait.pause("a collective over several processes");
      }
    };
    try {
      with_open_calls(shared, poll);
    } catch (...) {
      work->give_up(std::current_exception());
      throw;
    }
    work->require_usable();
  }
  await_work(shared, is_done);
}

}  // namespace belfry::cuda
