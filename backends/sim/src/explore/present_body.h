// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/unwatched.h"
#include "belfry/detail/machine_uses.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace belfry {

class Executor;

namespace sim {

class Backend;
class ProgramRun;

/// The backends of the simulator that have ended in the process.
extern constinit std::atomic<std::uint64_t> ended_backends;

/// Marks the calling thread as inside the body of an exploration, until the end of the scope, and
/// notices other backends than the body's: nobody observes their schedules.
class PresentBody {
 public:
  /// `backend` is the body's; null for a program whose backends are counted.
  explicit PresentBody(const Backend* backend);
  ~PresentBody();
  PresentBody(const PresentBody&) = delete;
  PresentBody& operator=(const PresentBody&) = delete;

  /// The first use of a backend that nobody observes, also in an exploration, in words; empty
  /// without such a use.
  std::string_view other_backends() const { return other_backends_; }
  /// The first draw of the body, by a replica or the caller, in words; empty without a draw.
  const std::string& draw() const { return draw_; }
  /// Whether the body is part of the body of an exploration.
  bool is_nested() const { return outer_ != nullptr; }
  /// Notes a draw from `library` by the innermost body of the calling thread, if any.
  static void draws(std::string_view library);
  /// Whether the calling thread is in a body.
  static bool is_in_body() { return present != nullptr; }
  /// The innermost body of the calling thread as a program that makes its backends itself; null if
  /// the body is none.
  static ProgramRun* program() { return present == nullptr ? nullptr : present->program_; }
  /// Makes `program` the innermost body of the calling thread, or ends it: null.
  static void set_program(ProgramRun* program) { present->program_ = program; }
  /// Notes the use of `backend` by the innermost body of the calling thread; by a thread without a
  /// body, as a use beside all bodies. The program `maker` has made the backend; null: no program.
  static void uses(const Backend& backend, const void* maker) {
    if (present == nullptr) {
      belfry::detail::note_use_beside_bodies();
    } else if (present->backend_ != &backend) [[unlikely]] {
      present->uses_other(maker);
    }
  }
  /// Notes, for the innermost body of the calling thread, a use of backends that nobody observes.
  static void uses_unobserved(std::string_view what);
  /// Notes that the innermost body of the calling thread runs a cluster; of a program whose
  /// backends are counted, a replica alone.
  static void runs_cluster();
  /// Notes that a backend of the simulator hands `executor` to the calling thread.
  static void hands_out(const Executor& executor) {
    const belfry::detail::Unwatched unwatched;
    handed_out = {&executor, ended_backends.load(std::memory_order_relaxed)};
  }
  /// Notes the end of a backend: a new executor may get the address of the ended executor.
  static void ends() noexcept { ended_backends.fetch_add(1, std::memory_order_relaxed); }
  /// Notes a run on `executor`. Executors of other backends are in use beside all bodies.
  static void runs(const Executor& executor) noexcept {
    const belfry::detail::Unwatched unwatched;
    const HandedOut wanted{&executor, ended_backends.load(std::memory_order_relaxed)};
    if (handed_out != wanted) belfry::detail::note_use_beside_bodies();
  }

 private:
  // An executor, and the number of backends that had ended before.
  struct HandedOut {
    const Executor* executor = nullptr;
    std::uint64_t ended = 0;
    bool operator==(const HandedOut&) const = default;
  };

  void uses_other(const void* maker);

  // Decides no result: a verdict alone depends on the mark.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local PresentBody* present;
  [[gnu::tls_model("initial-exec")]] static constinit thread_local HandedOut handed_out;

  const Backend* backend_;
  PresentBody* outer_;
  ProgramRun* program_ = nullptr;
  std::string_view other_backends_;
  std::string draw_;
};

}  // namespace sim
}  // namespace belfry
