// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/rounds/run_picture.h"

#include "belfry/detail/merge_request.h"
#include "belfry/error.h"
#include "run/rounds/group_waits.h"
#include "run/rounds/rendezvous.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace belfry::detail {
namespace {

using Status = ReplicaState::Status;

// The members of a group; empty for all replicas.
std::vector<int> ids_of(const Participants* group) {
  std::vector<int> ids;
  for (int i = 0; group != nullptr && i < group->count(); ++i) ids.push_back(group->id(i));
  return ids;
}

// The number of the first of `seen` equal to `address`. An address without an equal is appended.
// Numbers stand for addresses in messages.
std::uint32_t number_of(std::vector<const void*>& seen, const void* address) {
  const auto found = std::ranges::find(seen, address);
  const auto number = static_cast<std::uint32_t>(found - seen.begin());
  if (found == seen.end()) seen.push_back(address);
  return number;
}

void send_site(ByteWriter& out, const CallSite& site) {
  out.text(site.file);
  out.put(site.line);
}

// The addresses in the merges of a group, which are compared with one another alone.
struct Addresses {
  std::vector<const void*> types;
  std::vector<const void*> identities;
};

}  // namespace

Bytes describe_round(const RunFacts& run) {
  ByteWriter out;
  std::map<std::vector<int>, Addresses> addresses;
  out.put(static_cast<int>(run.states.size()));
  for (const ReplicaState& own : run.states) {
    const int replica = run.states.id_of(own);
    out.put(replica);
    out.put(own.status);
    out.put(own.merges);
    send_site(out, own.last_site);
    if (own.status == Status::kSeeking) {
      out.text(own.sought->name);
      send_site(out, own.sought->site);
    }
    if (own.status != Status::kArrived) continue;
    const MergeRequest& request = *run.requests[static_cast<std::size_t>(replica)];
    const std::vector<int> members = ids_of(request.group);
    out.put(static_cast<std::uint64_t>(members.size()));
    out.add(members.data(), members.size() * sizeof(int));
    Addresses& seen = addresses[members];
    out.put(request.type->kind);
    out.text(request.type->types);
    out.put(number_of(seen.types, request.type));
    out.put(number_of(seen.identities, request.identity));
    out.put(request.tag != nullptr);
    out.text(request.tag == nullptr ? std::string_view() : request.tag->name);
    out.put(request.type->describe != nullptr);
    out.text(request.type->describe == nullptr ? std::string() : request.type->describe(request));
  }
  return out.bytes();
}

Bytes describe_absent(const ProcessTable& processes, std::size_t process) {
  const int end = processes.first[process + 1];
  ByteWriter out;
  out.put(end - processes.first[process]);
  for (int replica = processes.first[process]; replica < end; ++replica) {
    out.put(replica);
    out.put(Status::kAbsent);
    out.put(std::uint32_t{0});
    send_site(out, {});
  }
  return out.bytes();
}

RoundSummary::RoundSummary(const RunFacts& run, MergeDigest& digest) {
  const auto is_in = [&](Status status) {
    for (int i = 0; i < run.present.count(); ++i) {
      if (run.states[static_cast<std::size_t>(run.present.id(i))].status != status) return false;
    }
    return true;
  };
  MergeDigest::Words words{};
  if (is_in(Status::kEnded)) {
    state_ = RoundState::kReturned;
  } else if (is_in(Status::kArrived) && !waits_in_group(run) &&
             belong_together(run.requests, run.present)) {
    state_ = RoundState::kArrived;
    words = digest.of(*run.requests[static_cast<std::size_t>(run.present.id(0))]);
  }
  std::memcpy(bytes_.data(), &state_, sizeof(state_));
  std::memcpy(bytes_.data() + sizeof(state_), words.data(), sizeof(words));
}

RoundState RoundSummary::common_state(const std::vector<Bytes>& summaries) {
  std::span<const std::byte> first;
  for (const std::span<const std::byte> message : summaries) {
    if (message.empty()) continue;
    const auto summary = message.first(std::min(message.size(), sizeof(bytes_)));
    if (first.empty()) first = summary;
    if (!std::ranges::equal(summary, first)) return RoundState::kMixed;
  }
  check(!first.empty(), "a round without replicas");
  return ByteReader(first).get<RoundState>();
}

std::vector<Bytes> RoundSummary::descriptions(const std::vector<Bytes>& payloads,
                                              const ProcessTable& processes) {
  std::vector<Bytes> all;
  for (std::size_t process = 0; process < payloads.size(); ++process) {
    const std::span<const std::byte> payload = payloads[process];
    if (payload.empty()) {
      all.push_back(describe_absent(processes, process));
      continue;
    }
    const bool is_mixed = ByteReader(payload).get<RoundState>() == RoundState::kMixed;
    if (!is_mixed || payload.size() <= sizeof(bytes_)) return {};
    const auto description = payload.subspan(sizeof(bytes_));
    all.emplace_back(description.begin(), description.end());
  }
  return all;
}

RunPicture::RunPicture(int replicas)
    : states_(replicas), requests_(static_cast<std::size_t>(replicas)), present_(replicas, {}) {
  for (int replica = 0; replica < replicas; ++replica) {
    states_[static_cast<std::size_t>(replica)].status = Status::kElsewhere;
  }
}

void RunPicture::add(const Bytes& message) {
  ByteReader in(message);
  std::vector<int> ids;
  for (int i = 0; i < present_.count(); ++i) ids.push_back(present_.id(i));
  for (int left = in.get<int>(); left > 0; --left) {
    const int replica = in.get<int>();
    check(replica >= 0 && replica < present_.replicas(), "a replica of another process");
    ReplicaState& state = states_[static_cast<std::size_t>(replica)];
    state.status = in.get<Status>();
    if (state.status != Status::kAbsent) ids.push_back(replica);
    state.merges = in.get<std::uint32_t>();
    const char* const file = texts_.insert(in.text()).first->c_str();
    state.last_site = {file, in.get<int>()};
    if (state.status == Status::kArrived) add_request(in, replica, state.last_site);
    if (state.status != Status::kSeeking) continue;
    VariableRequest& sought = sought_.emplace_back();
    sought.name = in.text();
    const char* const place = texts_.insert(in.text()).first->c_str();
    sought.site = {place, in.get<int>()};
    state.sought = &sought;
  }
  std::ranges::sort(ids);
  present_ = Participants(present_.replicas(), std::move(ids));
}

void RunPicture::add_request(ByteReader& in, int replica, CallSite site) {
  std::vector<int> members(in.count(sizeof(int)));
  in.take(members.data(), members.size() * sizeof(int));
  const auto kind = in.get<MergeKind>();
  std::string types = in.text();
  const auto type_number = in.get<std::uint32_t>();
  const auto identity_number = in.get<std::uint32_t>();
  const bool has_tag = in.get<bool>();
  Request& request = storage_.emplace_back();
  request.tag_text = in.text();
  const bool is_described = in.get<bool>();
  request.described = in.text();

  const auto [type, added] =
      types_.try_emplace({kind, std::move(types), type_number, is_described});
  if (added) {
    type->second = {kind, std::get<1>(type->first).c_str(), nullptr, nullptr};
    if (is_described) {
      type->second.describe = [](const MergeRequest& of) {
        return static_cast<const Request&>(of).described;
      };
    }
  }
  request.type = &type->second;
  request.site = site;
  request.own_tag = {request.tag_text, site};
  request.tag = has_tag ? &request.own_tag : nullptr;
  if (!members.empty()) {
    check(std::ranges::is_sorted(members) && members.back() < present_.replicas() &&
              std::ranges::count(members, replica) == 1,
          "a group of a replica of another process");
    request.group = &request.members.emplace(present_.replicas(), std::move(members));
  }
  request.identity = &*identities_.emplace(request.described, identity_number).first;
  requests_[static_cast<std::size_t>(replica)] = &request;
}

bool RunPicture::all_returned() const {
  return std::ranges::none_of(
      states_, [](const ReplicaState& own) { return own.status == Status::kArrived; });
}

std::vector<Participants> RunPicture::ready_groups() const {
  return detail::ready_groups(facts(), Participants(present_.replicas()));
}

std::optional<Failure> RunPicture::failure() const {
  if (waits_in_group(facts())) {
    const std::vector<Participants> groups = ready_groups();
    if (groups.empty()) return groups_wait(facts());
    for (const Participants& members : groups) {
      if (!belong_together(requests_, members))
        return merge_mismatch({states_, requests_, members}, 0);
    }
    return std::nullopt;
  }
  if (states_.find(Status::kEnded) != nullptr) return merge_missing(facts());
  if (belong_together(requests_, present_)) return std::nullopt;
  return merge_mismatch(facts(), states_[static_cast<std::size_t>(present_.id(0))].merges);
}

}  // namespace belfry::detail
