// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/watch.h"

#include "belfry/backend/current_slot.h"
#include "engine/command.h"

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace belfry::engine {
namespace {

bool is_single_threaded() {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

template <class T>
T& value_of(std::vector<T>& values, std::size_t number) {
  if (number >= values.size()) values.resize(number + 1);
  return values[number];
}

}  // namespace

sim::Actor Watch::actor() const {
  if (executor_ == nullptr) return {};
  // Replicas make most of the calls, and need no count of the runs around.
  const detail::ReplicaInRun innermost = detail::innermost_replica(*executor_);
  if (innermost.replica >= 0) {
    return {{AgentId::Kind::kReplica, innermost.replica}, innermost.run};
  }
  const detail::CurrentPlace place = detail::current_place(*executor_);
  if (place.depth == 0) return {};
  if (place.replica >= 0) return {{AgentId::Kind::kReplica, place.replica}, place.run};
  return {{AgentId::Kind::kMerge, place.depth - 1}, place.run};
}

Watch::BodyStay::BodyStay(Watch* watch, const Launch& launch, const Command& command,
                          const void* frame)
    : watch_(watch == nullptr || watch->memory_ == nullptr ? nullptr : watch) {
  if (watch_ == nullptr) return;
  watch_->memory_->enter_body(
      {launch, command.name, command.site, watch_->phase_ - launch.phase, frame});
}

// A single thread stays alone while it tells.
void Watch::tell(const sim::Observation& observation) {
  if (is_single_threaded()) return observer_.observe(observation);
  const std::lock_guard lock(mutex_);
  observer_.observe(observation);
}

void Watch::called_by(const void* code) {
  const sim::Actor caller = actor();
  const std::lock_guard lock(mutex_);
  value_of(codes_, actors_.of(caller)) = code;
}

const void* Watch::code() {
  const sim::Actor caller = actor();
  const std::lock_guard lock(mutex_);
  const std::optional<std::uint32_t> number = actors_.find(caller);
  return number && *number < codes_.size() ? codes_[*number] : nullptr;
}

std::uint32_t Watch::begin_run() {
  const std::lock_guard lock(mutex_);
  return ++runs_;
}

sim::EventName Watch::name_event() {
  const sim::Actor maker = actor();
  const std::lock_guard lock(mutex_);
  return {maker, ++value_of(events_, actors_.of(maker))};
}

// A later variable at the same address takes the place of an earlier variable.
std::uint32_t Watch::name_variable(const void* variable) {
  const std::lock_guard lock(mutex_);
  return variable_ids_[variable] = ++variables_;
}

std::uint32_t Watch::number_of_variable(const void* variable) {
  const std::lock_guard lock(mutex_);
  const auto known = variable_ids_.find(variable);
  return known == variable_ids_.end() ? 0 : known->second;
}

}  // namespace belfry::engine
