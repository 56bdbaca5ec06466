// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <cstdint>
#include <string_view>

namespace belfry {

class Executor;

namespace detail {

/// The base of the runner's contexts; the current slot points to it.
struct SlotContext {
  const CallSite* site = nullptr;  ///< See SiteScope.
};

/// The current context of the running fiber or thread: a pointer that the runner owns and
/// interprets. Executors save and restore the pointer at every switch: the context follows the
/// replica, not the thread. A thread-local variable.
SlotContext* current_slot() noexcept;
void set_current_slot(SlotContext* context) noexcept;

/// Makes `site` the call site of the device work that this replica, merge or thread submits, until
/// the end of the scope. The innermost scope counts; a site without a file changes nothing. The
/// site follows the current context, and the context that is current at the end of the scope is the
/// context of its beginning.
class SiteScope {
 public:
  explicit SiteScope(const CallSite& site) noexcept;
  ~SiteScope();
  SiteScope(const SiteScope&) = delete;
  SiteScope& operator=(const SiteScope&) = delete;

 private:
  CallSite site_;
  const CallSite** place_;
  const CallSite* before_;
};

/// The site of the innermost scope; an empty site outside every scope.
CallSite submitting_site() noexcept;

struct Carrier;

/// Marks the calling thread as the body of a user's kernel, until the end of the scope: no context
/// and no replica is current, and calls of belfry are refused (SEM-172).
class KernelScope {
 public:
  /// `kernel` is the name of the kernel, and outlives the scope.
  explicit KernelScope(std::string_view kernel) noexcept;
  ~KernelScope();
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;

 private:
  std::string_view name_;
  SlotContext* context_;
  Carrier* carrier_;
  const std::string_view* outer_;
};

/// Whether the calling code is in the body of a user's kernel.
bool is_in_kernel() noexcept;
/// Throws: ContextError (kWrongContext) in the body of a user's kernel (SEM-172).
void require_no_kernel(const CallSite& site = {});

/// The position of the calling code among the runs of an executor.
struct CurrentPlace {
  std::uint32_t run = 0;  ///< CarryOptions::number of the innermost run; 0 outside.
  int depth = 0;          ///< The number of runs around the code.
  int replica = -1;       ///< -1: outside, or in the caller of the innermost run, as merges are.
};
CurrentPlace current_place(const Executor& executor) noexcept;
/// The replica of the calling code in the innermost run of any executor; -1 outside runs and in the
/// caller of the innermost run.
int current_replica_id() noexcept;

/// A replica between two meetings of all replicas: begins of runs and merges. Two replicas of equal
/// phase have no order.
struct ReplicaPhase {
  int replica = -1;  ///< The replica of the calling code; -1: the caller of a run, or nobody.
  std::uint64_t phase = 0;  ///< The number that the runner has set last.
};
/// The replica and the phase of the calling code, in the innermost run of any executor.
ReplicaPhase current_phase() noexcept;
/// Begins a phase of the innermost run. Context: the caller of the run, while no replica goes on;
/// elsewhere nothing happens.
void begin_replica_phase(std::uint64_t phase) noexcept;

/// The replica of the calling code, if the innermost run is a run of `executor`.
struct ReplicaInRun {
  int replica = -1;       ///< -1: none.
  std::uint32_t run = 0;  ///< CarryOptions::number.
};
ReplicaInRun innermost_replica(const Executor& executor) noexcept;

}  // namespace detail
}  // namespace belfry
