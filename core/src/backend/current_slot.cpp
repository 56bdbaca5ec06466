// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/current_slot.h"

#include "backend/carrier.h"
#include "belfry/backend/unwatched.h"
#include "belfry/detail/host_accesses.h"
#include "belfry/error.h"

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

}  // namespace belfry::detail
