// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// What belongs to the calling code: its context, carrier and call site, and the watch of its
// thread.
#include "belfry/backend/current_slot.h"

#include "backend/carrier.h"
#include "belfry/backend/stall_watch.h"
#include "belfry/backend/unwatched.h"
#include "belfry/detail/host_accesses.h"
#include "belfry/error.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace belfry::detail {
namespace {

[[noreturn]] void refuse_in_kernel(std::string_view kernel, const CallSite& site) {
  throw ContextError(ErrorCode::kWrongContext,
                     "a call of belfry in the body of kernel " + std::string(kernel),
                     "a body computes with its operands alone: make the call before or after the "
                     "launch",
                     site);
}

// Of code outside every context. No switch between replicas happens there.
constinit thread_local const CallSite* site_outside = nullptr;

const CallSite** place_of_site() noexcept {
  return current.context != nullptr ? &current.context->site : &site_outside;
}

}  // namespace

constinit thread_local CurrentSlot current{};

SlotContext* current_slot() noexcept {
  const Unwatched unwatched;
  return current.context;
}

void set_current_slot(SlotContext* context) noexcept {
  const Unwatched unwatched;
  current.context = context;
}

SiteScope::SiteScope(const CallSite& site) noexcept : site_(site) {
  const Unwatched unwatched;
  place_ = place_of_site();
  before_ = *place_;
  if (!site_.empty()) *place_ = &site_;
}

SiteScope::~SiteScope() {
  const Unwatched unwatched;
  *place_ = before_;
}

CallSite submitting_site() noexcept {
  const Unwatched unwatched;
  const CallSite* const site = *place_of_site();
  return site == nullptr ? CallSite{} : *site;
}

KernelScope::KernelScope(std::string_view kernel) noexcept : name_(kernel) {
  const Unwatched unwatched;
  context_ = std::exchange(current.context, nullptr);
  carrier_ = std::exchange(current.carrier, nullptr);
  outer_ = std::exchange(current.kernel, &name_);
  if (host_accesses != nullptr) [[unlikely]]
    host_accesses->kernel_begins();
}

KernelScope::~KernelScope() {
  const Unwatched unwatched;
  if (host_accesses != nullptr) [[unlikely]]
    host_accesses->kernel_ended();
  current = {context_, carrier_, outer_};
}

bool is_in_kernel() noexcept {
  const Unwatched unwatched;
  return current.kernel != nullptr;
}

void require_no_kernel(const CallSite& site) {
  const Unwatched unwatched;
  if (current.kernel != nullptr) [[unlikely]] {
    refuse_in_kernel(*current.kernel, site);
  }
}

CurrentPlace current_place(const Executor& executor) noexcept {
  const Unwatched unwatched;
  const Carrier* carrier = carrier_on(executor);
  if (carrier == nullptr) return {};
  CurrentPlace place{carrier->run->number, 0, carrier->replica};
  for (; carrier != nullptr; carrier = carrier->outer) {
    const bool is_caller = carrier->replica < 0 && &carrier->run->executor() == &executor;
    place.depth += is_caller ? 1 : 0;
  }
  return place;
}

int current_replica_id() noexcept {
  const Unwatched unwatched;
  return current.carrier == nullptr ? -1 : current.carrier->replica;
}

ReplicaPhase current_phase() noexcept {
  const Unwatched unwatched;
  const Carrier* const carrier = current.carrier;
  if (carrier == nullptr || carrier->replica < 0) return {};
  return {carrier->replica, carrier->run->phase};
}

void begin_replica_phase(std::uint64_t phase) noexcept {
  const Unwatched unwatched;
  Carrier* const carrier = current.carrier;
  if (carrier != nullptr && carrier->replica < 0) carrier->run->phase = phase;
}

ReplicaInRun innermost_replica(const Executor& executor) noexcept {
  const Unwatched unwatched;
  const Carrier* const carrier = innermost_replica_on(executor);
  return carrier == nullptr ? ReplicaInRun{} : ReplicaInRun{carrier->replica, carrier->run->number};
}

Carrier& outer_replica_on(const Executor& executor) {
  Carrier* carrier = carrier_on(executor);
  check(carrier != nullptr && carrier->replica >= 0, "only a replica can wait");
  return *carrier;
}

void open_gate(Gate& gate) {
  std::span<const Gate::Waiter> waiters = gate.waiters();
  while (!waiters.empty()) {
    Run* const run = waiters.front().run;
    const auto end = std::ranges::find_if(
        waiters, [run](const Gate::Waiter& waiter) { return waiter.run != run; });
    run->admit({waiters.begin(), end});
    waiters = {end, waiters.end()};
  }
  gate.waiters().clear();
}

}  // namespace belfry::detail

namespace belfry {
namespace {

constinit thread_local StallWatch* watch_of_thread = nullptr;

}  // namespace

StallWatch* stall_watch() noexcept { return watch_of_thread; }

StallWatch* set_stall_watch(StallWatch* watch) noexcept {
  return std::exchange(watch_of_thread, watch);
}

}  // namespace belfry
