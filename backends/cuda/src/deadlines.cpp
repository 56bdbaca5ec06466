// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "deadlines.h"

#include "belfry/error.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>

namespace belfry::cuda {
namespace {

constexpr int kSignals = 65;  // On Linux they end with 64.
constexpr int kShare = 8;     // Naps in the shortest deadline.
constexpr char kEnd = 'e';

// Read by the handler: the end of a pipe to write to, and 1; 0: none.
std::array<std::atomic<int>, kSignals> pipes{};

void note(int signal) {
  const int before = errno;
  const int pipe = pipes[static_cast<std::size_t>(signal)].load() - 1;
  const char byte = 's';
  if (pipe >= 0) static_cast<void>(!::write(pipe, &byte, 1));
  errno = before;
}

[[noreturn]] void refuse(int signal, const char* why) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "the signal " + std::to_string(signal) + " " + why,
                             "name another signal, such as SIGUSR1, or 0 for none");
}

// False for a number of no signal that can be handled.
bool has_set_handler(int signal, void (*handler)(int), struct sigaction* before) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigfillset(&action.sa_mask);
  return ::sigaction(signal, &action, before) == 0;
}

std::int64_t shortest(const Options& options) {
  const std::int64_t merge = options.merge_deadline.count();
  const std::int64_t run = options.run_deadline.count();
  if (merge == 0 || run == 0) return std::max(merge, run);
  return std::min(merge, run);
}

}  // namespace

Deadlines::Deadlines(const Options& options)
    : WaitLimit(options.merge_deadline.count(), options.run_deadline.count()),
      nap_(std::max<std::int64_t>(1, shortest(options) / kShare)) {}

std::int64_t Deadlines::now_ms() const {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

void Deadlines::wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed) {
  changed.wait_for(lock, nap_);
}

struct OnSignal::Parts {
  int signal = 0;
  std::array<int, 2> pipe{-1, -1};
  struct sigaction before{};
  std::thread thread;
};

OnSignal::OnSignal(int signal, std::function<void()> work) : parts_(std::make_unique<Parts>()) {
  parts_->signal = signal;
  if (signal < 1 || signal >= kSignals) refuse(signal, "has no handler");
  if (::pipe2(parts_->pipe.data(), O_CLOEXEC) != 0) refuse(signal, "has no pipe");
  ::fcntl(parts_->pipe[1], F_SETFL, O_NONBLOCK);  // The handler never waits.
  std::atomic<int>& place = pipes[static_cast<std::size_t>(signal)];
  int none = 0;
  const bool is_free = place.compare_exchange_strong(none, parts_->pipe[1] + 1);
  if (!is_free || !has_set_handler(signal, note, &parts_->before)) {
    if (is_free) place.store(0);
    for (const int end : parts_->pipe) ::close(end);
    refuse(signal, is_free ? "has no handler" : "is the write_signal of another backend");
  }
  parts_->thread = std::thread([pipe = parts_->pipe[0], work = std::move(work)] {
    char byte = 0;
    while (true) {
      const ssize_t got = ::read(pipe, &byte, 1);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0 || byte == kEnd) return;
      work();
    }
  });
}

OnSignal::~OnSignal() {
  ::sigaction(parts_->signal, &parts_->before, nullptr);
  pipes[static_cast<std::size_t>(parts_->signal)].store(0);
  while (::write(parts_->pipe[1], &kEnd, 1) < 0) std::this_thread::yield();
  parts_->thread.join();
  for (const int end : parts_->pipe) ::close(end);
}

}  // namespace belfry::cuda
