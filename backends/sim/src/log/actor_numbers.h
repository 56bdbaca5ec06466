// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/observer.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace belfry::sim {

/// Numbers for actors, from 0 in the order of their first acts. Streams have no numbers here.
class ActorNumbers {
 public:
  /// Throws: std::bad_alloc, of an actor without a number.
  std::uint32_t of(const Actor& actor) {
    const std::size_t slot = slot_of(actor);
    if (slot < latest_.size() && latest_[slot].actor == actor) return latest_[slot].number;
    return look_up(actor, slot);
  }
  /// The number of `actor`, if there is one.
  std::optional<std::uint32_t> find(const Actor& actor) const {
    const std::size_t slot = slot_of(actor);
    if (slot < latest_.size() && latest_[slot].actor == actor) return latest_[slot].number;
    const auto known = numbers_.find(actor);
    return known == numbers_.end() ? std::nullopt : std::optional(known->second);
  }
  /// The actors by number.
  const std::vector<Actor>& actors() const { return actors_; }

 private:
  struct Known {
    Actor actor{};
    std::uint32_t number = 0;
  };

  static std::size_t slot_of(const Actor& actor) {
    const bool is_replica = actor.agent.kind == AgentId::Kind::kReplica;
    return is_replica ? static_cast<std::size_t>(actor.agent.index) + 1 : 0;
  }

  // Apart, for most looks find the latest actor.
  [[gnu::noinline]] std::uint32_t look_up(const Actor& actor, std::size_t slot) {
    auto known = numbers_.find(actor);
    if (known == numbers_.end()) {
      actors_.push_back(actor);
      known = numbers_.emplace(actor, static_cast<std::uint32_t>(actors_.size() - 1)).first;
    }
    if (slot >= latest_.size()) latest_.resize(slot + 1, {actor, known->second});
    latest_[slot] = {actor, known->second};
    return known->second;
  }

  std::map<Actor, std::uint32_t> numbers_;
  std::vector<Actor> actors_;
  // The latest actor that was a replica of an id, by id from 1; before these, the latest of all
  // other actors.
  std::vector<Known> latest_;
};

}  // namespace belfry::sim
