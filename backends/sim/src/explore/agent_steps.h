// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/log.h"
#include "belfry/sim/observer.h"
#include "log/actor_numbers.h"
#include "log/numbered_values.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::sim {

/// The steps of each host agent of a run, in the agent's own order, with digests of the data of its
/// device work. Two schedules of a certified program have equal steps: names of streams, which
/// depend on the order of all agents, and copies before writes (SEM-194) are left out.
class AgentSteps {
 public:
  /// Adds the step of an observation of a host agent, if there is a step.
  void add(const Observation& seen);
  /// Adds the digests of device work. `log` belongs to the observed run.
  void add_digests(const Log& log);

  /// The first difference in words; nothing if there is none.
  friend std::optional<std::string> difference(const AgentSteps& first, const AgentSteps& second);

 private:
  // Without initialisers: a run has a step for each operation, and `add` sets all members.
  struct Step {
    Observation::Kind kind;
    OperationKind operation;
    std::uint32_t actor;        // By actors_.
    std::uint32_t name_length;  // Of `name`.
    int line;                   // Of the site.
    const char* name;           // Of work; lives as long as the program.
    const char* file;           // Of the site.
    std::uint64_t number;       // Bytes of an allocation or of footprints, a record, a variable.
    std::uint64_t digest;

    std::string_view work() const { return {name, name_length}; }
  };
  using Steps = std::vector<const Step*>;
  static constexpr std::uint32_t kNoStep = 0;
  static constexpr std::size_t kBlock = 256;

  Step& new_step() {
    if (count_ == room_) add_block();
    return *(latest_ + count_++ % kBlock);
  }
  void add_block();
  // Whether the step belongs to a copy before a write.
  bool is_of_copy(const Observation& seen);
  Step& at(std::size_t position) const { return blocks_[position / kBlock][position % kBlock]; }

  std::map<Actor, Steps> by_actor() const;
  static bool same(const Step& a, const Step& b);
  static std::string text(const Step* step);

  // The copy that an actor is about to make.
  struct Copy {
    Footprint storage{};        // That keeps its bytes.
    bool is_allocated = false;  // Whether the actor has the memory of the copy.
  };

  ActorNumbers actors_;
  std::map<Actor, Copy> copies_;
  // Of all agents, in blocks: a list that grows as one would move all steps again and again.
  std::vector<std::unique_ptr<Step[]>> blocks_;
  Step* latest_ = nullptr;  // The last block.
  std::size_t room_ = 0;    // Steps in all blocks.
  std::size_t count_ = 0;
  // By stream and item: the position of the submission, from 1.
  NumberedValues<std::vector<std::uint32_t>> work_;
};

}  // namespace belfry::sim
