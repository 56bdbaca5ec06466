// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "patrol.h"

#include "belfry/testing/watchdog.h"
#include "held_thread.h"
#include "sanitizer.h"
#include "stall_report.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace belfry::testing {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

void print(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (written <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

// A debugger stops threads for any time.
bool is_traced() {
  constexpr std::string_view kName = "TracerPid:\t";
  std::array<char, 4096> text{};
  const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t size = ::read(file, text.data(), text.size());
  ::close(file);
  const std::string_view status(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  const std::size_t found = status.find(kName);
  return found != std::string_view::npos && status.substr(found + kName.size(), 1) != "0";
}

[[noreturn]] void end_process() {
  print("belfry: the process ends with exit code " + std::to_string(kStallExitCode) +
        "; BELFRY_WATCHDOG_S sets the limit in seconds, and 0 turns the watchdog off\n");
  // A thread that stands still may hold the lock of the file.
  if (::ftrylockfile(stdout) == 0) std::fflush(stdout);
  std::_Exit(kStallExitCode);
}

// The threads with replicas at work, or the thread of the merge.
std::vector<pthread_t> threads_at_work(const RunProgress& run) {
  using State = ReplicaProgress::State;
  if (run.turn() == RunProgress::kCaller) return {run.facts().caller};
  std::vector<pthread_t> threads;
  int position = 0;
  for (const ReplicaProgress& replica : run.replicas()) {
    const bool is_at_work =
        run.turn() == RunProgress::kAll ? replica.state == State::kRunning : run.turn() == position;
    if (is_at_work && replica.state != State::kNotStarted) threads.push_back(replica.thread);
    ++position;
  }
  return threads;
}

}  // namespace

struct Patrol::State {
  struct Watched {
    ThreadWatch* watch = nullptr;
    std::uint64_t moves = 0;
    Clock::time_point since{};  // The count of moves has not changed since.
  };

  void start();
  void patrol(std::unique_lock<std::mutex> lock);
  milliseconds interval() const;
  void look_at(Watched& watched);
  void stop(Watched& watched, RunProgress& run);
  void print_others(const Watched& stalled) const;
  void forget_thread();

  std::mutex mutex;
  std::unique_ptr<std::condition_variable> changed = std::make_unique<std::condition_variable>();
  std::vector<Watched> all;
  std::unique_ptr<std::thread> thread;
};

void Patrol::State::start() {
  if (thread != nullptr || all.empty()) return;
  thread = std::make_unique<std::thread>([this] { patrol(std::unique_lock(mutex)); });
}

void Patrol::State::patrol(std::unique_lock<std::mutex> lock) {
  // `remove` takes the thread away to end the patrol.
  while (thread != nullptr && thread->get_id() == std::this_thread::get_id()) {
    changed->wait_for(lock, interval());
    for (Watched& watched : all) look_at(watched);
  }
}

milliseconds Patrol::State::interval() const {
  std::uint32_t shortest = 4000;
  for (const Watched& watched : all) shortest = std::min(shortest, watched.watch->limit_ms());
  return milliseconds(std::max(1U, shortest / 4));
}

void Patrol::State::look_at(Watched& watched) {
  const Clock::time_point now = Clock::now();
  const std::uint64_t moves = watched.watch->moves();
  RunProgress* const run = watched.watch->innermost();
  if (run == nullptr || moves != watched.moves) {
    watched.moves = moves;
    watched.since = now;
    return;
  }
  if (now - watched.since < milliseconds(watched.watch->limit_ms())) return;
  // From here on the time counts anew, if the run goes on.
  watched.since = now;
  if (!is_traced()) stop(watched, *run);
}

// Holds the threads first: a run that has just made a move goes on unharmed.
void Patrol::State::stop(Watched& watched, RunProgress& run) {
  std::string calls;
  const std::uint32_t limit_ms = watched.watch->limit_ms();
  for (const pthread_t thread : threads_at_work(run)) {
    HeldThread held(thread);
    if (watched.watch->moves() != watched.moves) return;
    if (held.is_held()) calls += "\n  call stack:" + call_lines(held.calls());
    if (!run.can_leave_behind() || !held.is_held()) continue;
    print("belfry: " + to_string(stall_report(run, limit_ms)) + calls +
          "\nbelfry: the replica is left behind, and its run fails\n");
    held.keep();
    run.leave_behind(limit_ms);
    return;
  }
  print("belfry: " + to_string(stall_report(run, limit_ms)) + calls + "\n");
  print_others(watched);
  end_process();
}

// The runs of further threads without a move for half of their limits: the cause may be among them.
void Patrol::State::print_others(const Watched& stalled) const {
  const Clock::time_point now = Clock::now();
  for (const Watched& other : all) {
    const RunProgress* const run = other.watch->innermost();
    const auto limit_ms = milliseconds(other.watch->limit_ms());
    if (&other == &stalled || run == nullptr || now - other.since < limit_ms / 2) continue;
    const auto still = std::chrono::duration_cast<milliseconds>(now - other.since).count();
    print("belfry: " + to_string(stall_report(*run, static_cast<std::uint32_t>(still))) + "\n");
  }
}

// In the child of a fork, which has no thread but the forking one.
void Patrol::State::forget_thread() {
  static_cast<void>(thread.release());
  static_cast<void>(changed.release());  // A thread that is gone may be in its wait.
  changed = std::make_unique<std::condition_variable>();
}

Patrol& Patrol::shared() {
  static Patrol& patrol = *new Patrol;
  return patrol;
}

Patrol::Patrol() : state_(new State) {
  ::pthread_atfork([] { shared().state_->mutex.lock(); }, [] { shared().state_->mutex.unlock(); },
                   [] {
                     shared().state_->forget_thread();
                     shared().state_->mutex.unlock();
                   });
}

std::unique_lock<std::mutex> Patrol::lock() {
  std::unique_lock lock(state_->mutex);
  if (!kDelaysSignals) state_->start();
  return lock;
}

void Patrol::add(ThreadWatch& watch) {
  const std::unique_lock lock(state_->mutex);
  state_->all.push_back({.watch = &watch, .moves = 0, .since = Clock::now()});
  state_->start();
  state_->changed->notify_all();
}

void Patrol::remove(ThreadWatch& watch) {
  std::unique_ptr<std::thread> ended;
  {
    const std::unique_lock lock(state_->mutex);
    std::erase_if(state_->all, [&](const auto& watched) { return watched.watch == &watch; });
    if (state_->all.empty()) ended = std::move(state_->thread);
    state_->changed->notify_all();
  }
  if (ended != nullptr) ended->join();
}

}  // namespace belfry::testing
