// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The verbs of a process alone, and what all kinds of members share.
#include "belfry/detail/round_members.h"

#include "belfry/detail/distribute.h"
#include "belfry/error.h"

#include <algorithm>
#include <optional>
#include <string>

namespace belfry::detail {

void RoundMembers::listen(StrategyCore& /*core*/, CallSite site) { throw_nobody_takes_part(site); }

FoldedBytes RoundMembers::exchange_to_fold(const char* /*what*/, CallSite /*site*/,
                                           WriteMessage write, const ProcessGroup::Fold* /*fold*/) {
  ByteWriter out;
  write(out);
  return {.all = {out.bytes()}};
}

std::exception_ptr RoundMembers::tell_failure(const std::exception_ptr& thrown, int /*replica*/,
                                              CallSite /*site*/) noexcept {
  return thrown;
}

std::unique_ptr<MembersTransaction> RoundMembers::begin_transaction(CallSite /*site*/) {
  return std::make_unique<MembersTransaction>();
}

std::vector<Bytes> RoundMembers::exchange(const char* what, CallSite site, const Bytes& own) {
  const auto write = [&own](ByteWriter& out) { out.add(own.data(), own.size()); };
  return exchange(what, site, WriteMessage(write));
}

std::vector<Bytes> RoundMembers::exchange_of_all(const char* what, CallSite site,
                                                 const Bytes& own) {
  require_no_listener(what, site);
  std::vector<Bytes> messages = exchange(what, site, own);
  require_no_listener(what, site);  // Before the first exchange of a run no listener is known.
  return messages;
}

std::shared_ptr<const Bytes> RoundMembers::exchange_to_hear(const char* what, CallSite site,
                                                            int from, WriteMessage write) {
  const auto place = static_cast<std::size_t>(from);
  const auto heard = [place](std::span<const std::span<const std::byte>> all) {
    return std::optional<Bytes>(std::in_place, all[place].begin(), all[place].end());
  };
  const ProcessGroup::Fold fold(heard);
  FoldedBytes sent = exchange_to_fold(what, site, write, &fold);
  if (sent.result != nullptr) return sent.result;
  return std::make_shared<const Bytes>(std::move(sent.all[place]));
}

std::vector<Bytes> RoundMembers::exchange_to_compare(const char* what, CallSite site,
                                                     WriteMessage write) {
  if (is_alone()) return {};
  const auto nothing_if_equal = [](std::span<const std::span<const std::byte>> messages) {
    const bool are_equal = std::ranges::all_of(messages, [&](std::span<const std::byte> message) {
      return same_bytes(message, messages.front());
    });
    return are_equal ? std::optional(Bytes()) : std::nullopt;
  };
  const ProcessGroup::Fold fold(nothing_if_equal);
  std::vector<Bytes> all = exchange_to_fold(what, site, write, &fold).all;
  if (all.empty() || !has_listeners()) return all;  // Compared in the fold.
  const Bytes& first = all[static_cast<std::size_t>(first_speaker())];
  const bool same = std::ranges::all_of(
      all, [&](const Bytes& message) { return message.empty() || message == first; });
  if (same) all.clear();
  return all;
}

int RoundMembers::first_speaker() const {
  const auto speaker = std::ranges::find(listens_, false);
  if (speaker == listens_.end()) return process_of(0);
  return static_cast<int>(speaker - listens_.begin());
}

std::vector<int> RoundMembers::replicas_of(bool listeners) const {
  std::vector<int> replicas;
  for (int replica = 0; replica < this->replicas(); ++replica) {
    if (is_listener(process_of(replica)) == listeners) replicas.push_back(replica);
  }
  return replicas;
}

Participants RoundMembers::replicas_of_speakers() const {
  if (!has_listeners()) return Participants(replicas());
  return {replicas(), replicas_of(false)};
}

void RoundMembers::require_no_listener(const char* what, CallSite site) const {
  const auto listener = std::ranges::find(listens_, true);
  if (listener == listens_.end()) return;
  throw UnsupportedError(ErrorCode::kUnsupported,
                         std::string(what) + " in a run in which no replica of process " +
                             std::to_string(listener - listens_.begin()) +
                             " takes part is not available yet",
                         "make the call outside of the run, or let a replica of every process take "
                         "part",
                         site);
}

void RoundMembers::refuse_processes(const char* what, CallSite site) {
  throw UnsupportedError(
      ErrorCode::kUnsupported, std::string(what) + " is not available over several processes yet",
      "docs/processes.md lists what is: runs, merges, and verbs of host values", site);
}

}  // namespace belfry::detail
