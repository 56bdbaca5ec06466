// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/dataset/recipe.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace belfry::detail {

class SavedVariable;
class StrategyCore;

/// What was taken from the front of a dataset.
struct RowsTaken {
  std::int64_t rows = 0;  ///< The number of rows.
  /// The number of elements, of datasets whose elements replicas take whole; 0: not counted.
  std::int64_t elements = 0;

  RowsTaken& operator+=(const RowsTaken& more) {
    rows += more.rows;
    elements += more.elements;
    return *this;
  }
  bool operator==(const RowsTaken&) const = default;
};

/// The position in a distributed dataset: the rows that the loop begun last has handed out
/// (SEM-255). Shared by the dataset, its copies, its loops, and checkpoints.
class DatasetPosition {
 public:
  /// `has_all_rows`: the dataset is no part of the data.
  DatasetPosition(StrategyCore& core, Recipe recipe, bool has_all_rows, CallSite made)
      : core_(&core), recipe_(std::move(recipe)), has_all_rows_(has_all_rows), made_(made) {}

  StrategyCore* core() const { return core_; }         ///< Of the strategy.
  const Recipe& recipe() const { return recipe_; }     ///< The calls that made the dataset.
  bool has_all_rows() const { return has_all_rows_; }  ///< As in the constructor.
  CallSite made() const { return made_; }              ///< The call that distributed the dataset.

  /// Where the loop begun last stands; before a loop, where the next loop begins.
  const RowsTaken& taken() const { return taken_; }
  /// Whether a restore decides where the next loop begins.
  bool is_restored() const { return is_restored_; }
  /// Begins a loop, at the start of the data or at the restored position. Returns the number of
  /// the loop; loops with lower numbers no longer change the position.
  std::uint64_t begin_loop() {
    if (!is_restored_) taken_ = {};
    return ++loop_;
  }
  /// A loop hands out a step. Loops with lower numbers than the last change nothing.
  void hand_out(std::uint64_t loop, const RowsTaken& step) {
    if (loop != loop_) return;
    // A loop that began behind some rows does not know the number of their elements.
    const bool counts = step.elements > 0 && (taken_.elements > 0 || taken_.rows == 0);
    taken_ += step;
    if (!counts) taken_.elements = 0;
    is_restored_ = false;
  }
  /// The next loop begins at the start of the data.
  void end_loop(std::uint64_t loop) {
    if (loop != loop_) return;
    taken_ = {};
    is_restored_ = false;
  }
  /// The next loop begins here. Present loops go on, and no longer change the position.
  void restore(const RowsTaken& taken) noexcept {
    taken_ = taken;
    is_restored_ = true;
    ++loop_;
  }

 private:
  StrategyCore* core_;
  Recipe recipe_;
  bool has_all_rows_;
  CallSite made_;
  RowsTaken taken_{};
  bool is_restored_ = false;  // And no loop has handed out a step since.
  std::uint64_t loop_ = 0;    // The number of the loop begun last.
};

/// A position as a member of a checkpoint. Throws: as Checkpoint::add.
std::unique_ptr<SavedVariable> saved_position(StrategyCore& core, const std::string& name,
                                              std::shared_ptr<DatasetPosition> position,
                                              CallSite site);

}  // namespace belfry::detail
