// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Finds the waits between the streams of members that work in steps. The waits are as few as the
/// accesses need: a member that waits for a second member also knows the waits of the second. Step
/// 0 is the work of each member alone at the beginning.
class StepOrder {
 public:
  using Waits = std::vector<std::pair<int, int>>;

  StepOrder(int members, int chunks);

  /// Begins a step. The accesses of the step follow, then `end_step`.
  void begin_step();
  /// `reader` reads a chunk of `member`.
  void read(int reader, int member, int chunk);
  /// `member` writes a chunk of its own.
  void write(int member, int chunk);
  /// The waits of the step, by member: `first` waits for all earlier steps of `second`.
  Waits end_step();
  /// Waits after which each member may free or overwrite its memory.
  Waits last_waits();

 private:
  struct Chunk {
    std::int32_t written = 0;                           // The last step with a write.
    std::vector<std::pair<int, std::int32_t>> readers;  // Reads since the write, with steps.
  };

  std::size_t at(int member, int other) const {
    return static_cast<std::size_t>(member) * members_ + static_cast<std::size_t>(other);
  }
  Chunk& chunk(int member, int index) {
    return chunks_[static_cast<std::size_t>(member) * chunks_each_ +
                   static_cast<std::size_t>(index)];
  }
  bool is_known(int member, int other, std::int32_t step) const {
    return member == other || known_[at(member, other)] > step;
  }
  void learn(Waits& waits);

  std::size_t members_;
  std::size_t chunks_each_;
  std::int32_t step_ = 0;
  std::vector<Chunk> chunks_;
  std::vector<std::int32_t> known_;   // known_[at(m, k)]: m waited for the steps of k below.
  std::vector<std::int32_t> before_;  // The same at the beginning of the step.
  Waits reads_;                       // Of the step: members whose earlier work must be done.
  struct Overwrite {
    int member;
    int reader;
    std::int32_t step;
  };
  std::vector<Overwrite> overwrites_;  // Reads that come before the writes of the step.
};

}  // namespace belfry::detail
