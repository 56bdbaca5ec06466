// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/flight_recorder.h"

#include "belfry/detail/flight_ring.h"
#include "belfry/detail/options_text.h"
#include "belfry/error.h"
#include "trace/flight_json.h"
#include "words/saved_file.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

namespace belfry {

std::string to_string(const FlightRecorderOptions& options) {
  const FlightRecorderOptions usual;
  detail::OptionsText text;
  text.add("entries", options.entries, usual.entries);
  text.add("at_failure", options.at_failure, usual.at_failure);
  return text.text();
}

FlightRecorder::FlightRecorder(std::string prefix, const FlightRecorderOptions& options,
                               CallSite site) {
  if (options.entries == 0) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument, "a flight recorder of 0 entries",
                               "keep at least 1; 2000 is usual", site);
  }
  ring_ = std::make_unique<detail::FlightRing>(std::move(prefix), options);
}

FlightRecorder::~FlightRecorder() = default;

const std::string& FlightRecorder::prefix() const { return ring_->prefix(); }
const FlightRecorderOptions& FlightRecorder::options() const { return ring_->options(); }
void FlightRecorder::write(CallSite site) { write(prefix(), site); }
void FlightRecorder::write(const std::string& prefix, CallSite site) {
  ring_->write(prefix, "call", nullptr, site);
}

namespace detail {

FlightRing::FlightRing(std::string prefix, const FlightRecorderOptions& options)
    : prefix_(std::move(prefix)),
      options_(options),
      entries_(options.entries),
      next_(entries_.data()),
      last_(&entries_.back()) {}

void FlightRing::share(std::int64_t (*clock)(), std::int64_t deadline_ms) {
  is_shared_ = true;
  clock_ = clock;
  deadline_ms_ = deadline_ms;
}

FlightGroup& FlightRing::add(FlightGroup group) {
  const std::lock_guard lock(mutex_);
  const bool is_joint = group.size > 0;
  if (!is_joint) group.own = ranks_of(group.own);
  group.name =
      is_joint ? "c" + std::to_string(joint_communicators_++) : std::to_string(groups_.size());
  return groups_.emplace_back(std::move(group));
}

FlightGroup& FlightRing::part(const FlightGroup& whole, const std::string& part,
                              std::vector<int> members) {
  const std::lock_guard lock(mutex_);
  const std::string about = part + " of " + whole.about + " " + whole.name;
  const auto found = std::ranges::find(groups_, about, &FlightGroup::about);
  if (found != groups_.end()) return *found;
  const bool is_joint = whole.size > 0;
  const std::string ids = part.substr(part.find(' '));
  FlightGroup group{.name = is_joint ? whole.name + ids : std::to_string(groups_.size()),
                    .about = about,
                    .carrier = whole.carrier};
  for (const int rank : members) {
    if (std::ranges::find(whole.own, rank) != whole.own.end()) group.own.push_back(rank);
  }
  if (is_joint) group.members = std::move(members);
  return groups_.emplace_back(std::move(group));
}

// In a process alone the rank of a device is its number.
std::vector<int> FlightRing::ranks_of(const std::vector<int>& devices) const {
  if (ranks_.empty()) return devices;
  std::vector<int> ranks;
  for (const int device : devices) {
    const auto rank = ranks_.find(device);
    ranks.push_back(rank == ranks_.end() ? -1 : rank->second);
  }
  return ranks;
}

// All processes make the groups of several processes in one order.
void FlightRing::join(FlightGroup& group, const std::vector<int>& devices, int process,
                      const std::vector<int>& first) {
  const std::lock_guard lock(mutex_);
  const bool is_first = ranks_.empty();
  group.name = std::to_string(joint_++);
  group.process = process;
  group.processes = static_cast<int>(first.size()) - 1;
  group.size = first.back();
  const auto own = first.begin() + process;
  group.own.resize(static_cast<std::size_t>(own[1] - own[0]));
  std::iota(group.own.begin(), group.own.end(), own[0]);
  for (std::size_t i = 0; i < std::min(devices.size(), group.own.size()); ++i) {
    ranks_.try_emplace(devices[i], group.own[i]);
  }
  for (FlightGroup& other : groups_) {
    if (is_first && other.size == 0) other.own = ranks_of(other.own);
  }
}

void FlightRing::end() {
  const std::lock_guard lock(mutex_);
  is_over_ = true;
}

void FlightRing::name(FlightGroup& group, std::uint64_t variable, const std::string& name) {
  const std::lock_guard lock(mutex_);
  group.variables[variable] = name;
}

FlightTicket FlightRing::begin_shared(FlightGroup& group, const char* verb,
                                      CallSite site) noexcept {
  const std::lock_guard lock(mutex_);
  const FlightTicket ticket = put(group, verb, site);
  ticket.entry->created_ns = clock_ == nullptr ? 0 : clock_();
  ticket.entry->completed_ns = 0;
  return ticket;
}

void FlightRing::set_values(const FlightTicket& ticket, const FlightValues& values) noexcept {
  const std::lock_guard lock(mutex_);
  if (!is_there(ticket)) return;
  ticket.entry->values = values;
  ticket.entry->has_values = true;
}

void FlightRing::set_state_shared(const FlightTicket& ticket, FlightState state) noexcept {
  const std::lock_guard lock(mutex_);
  if (!is_there(ticket)) return;
  if (state == FlightState::kCompleted) return mark_completed(*ticket.entry);
  ticket.entry->state = state;
}

void FlightRing::mark_completed(FlightEntry& entry) noexcept {
  entry.state = FlightState::kCompleted;
  if (clock_ != nullptr) entry.completed_ns = clock_();
}

void FlightRing::wait(int position, bool begins) {
  const std::lock_guard lock(mutex_);
  begins ? static_cast<void>(waits_.insert(position)) : static_cast<void>(waits_.erase(position));
}

void FlightRing::add(FlightSource& source) {
  const std::lock_guard lock(mutex_);
  sources_.push_back(&source);
}

void FlightRing::remove(FlightSource& source) noexcept {
  const std::lock_guard lock(mutex_);
  source.update();
  std::erase(sources_, &source);
}

std::vector<const FlightEntry*> FlightRing::entries_of(int rank) const {
  std::vector<const FlightEntry*> found;
  const std::uint64_t kept = std::min<std::uint64_t>(begun_, entries_.size());
  for (std::uint64_t i = begun_ - kept; i < begun_; ++i) {
    const FlightEntry& entry = entries_[i % entries_.size()];
    const std::vector<int>& own = entry.group->own;
    if (std::ranges::find(own, rank) != own.end()) found.push_back(&entry);
  }
  return found;
}

std::string FlightRing::open_calls() {
  constexpr std::size_t kMost = 8;
  const std::lock_guard lock(mutex_);
  for (FlightSource* const source : sources_) source->update();
  std::vector<std::string> calls;
  const std::uint64_t kept = std::min<std::uint64_t>(begun_, entries_.size());
  for (std::uint64_t i = begun_ - kept; i < begun_; ++i) {
    const FlightEntry& entry = entries_[i % entries_.size()];
    if (entry.state == FlightState::kCompleted) continue;
    calls.push_back(std::string(entry.verb) + " #" + std::to_string(entry.number) + " of " +
                    entry.group->about + " " + entry.group->name + " at " + to_string(entry.site));
  }
  std::string text;
  for (std::size_t i = calls.size() - std::min(calls.size(), kMost); i < calls.size(); ++i) {
    text += (text.empty() ? "" : ", ") + calls[i];
  }
  return text;
}

void FlightRing::write(const std::string& prefix, const char* reason, const ErrorReport* error,
                       CallSite site) {
  const std::lock_guard lock(mutex_);
  std::map<int, FlightRank> ranks;
  int size = 0;
  int process = 0;
  int processes = 1;
  for (const FlightGroup& group : groups_) {
    for (const int rank : group.own) {
      ranks.try_emplace(rank, FlightRank{.rank = rank, .state = is_over_ ? "ended" : "running"});
    }
    size = std::max(size, group.size);
    if (group.processes > processes) {
      process = group.process;
      processes = group.processes;
    }
  }
  // The innermost run comes last, and counts.
  for (FlightSource* const source : sources_) {
    source->update();
    std::vector<FlightRank> shown;
    source->show(shown);
    for (const FlightRank& rank : shown) ranks[rank.rank] = rank;
  }
  ranks.erase(-1);
  const int all = std::max(size, static_cast<int>(ranks.size()));
  const bool is_cut = begun_ > entries_.size();
  for (const auto& [number, rank] : ranks) {
    FlightFile file{.rank = rank,
                    .process = process,
                    .processes = processes,
                    .ranks = all,
                    .groups = groups_,
                    .entries = entries_of(number),
                    .first = is_cut ? begun_ - entries_.size() : 0,
                    .deadline_ms = deadline_ms_,
                    .reason = reason,
                    .error = error};
    const std::string text = flight_json(file);
    const std::string_view pieces[] = {text};
    save_file(prefix + "rank" + std::to_string(number) + ".json", pieces, site);
  }
}

// The failure of a run behind a deadline of work would replace the files of the deadline, after
// communicators are aborted.
void FlightRing::write_failure(const char* reason, const ErrorReport& error) noexcept {
  if (!options_.at_failure) return;
  const bool is_late = std::string_view(reason) == "deadline";
  {
    const std::lock_guard lock(mutex_);
    if (is_over_ || (!is_late && begun_ == begun_at_deadline_)) return;
    if (is_late) begun_at_deadline_ = begun_;
  }
  write_if_possible(reason, &error);
}

void FlightRing::write_if_possible(const char* reason, const ErrorReport* error) noexcept {
  try {
    write(prefix_, reason, error, {});
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "belfry: the flight recorder wrote nothing: %s\n", failure.what());
  }
}

}  // namespace detail
}  // namespace belfry
