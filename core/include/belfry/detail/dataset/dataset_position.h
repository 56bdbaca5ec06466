// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/dataset/recipe.h"
#include "belfry/detail/dataset/row_set.h"
#include "belfry/detail/variable_state.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace belfry::detail {

class SavedVariable;
class StrategyCore;

/// What a step takes from a dataset.
struct RowsTaken {
  std::int64_t rows = 0;  ///< The number of rows.
  /// The number of elements, of datasets whose elements replicas take whole; 0: not counted.
  std::int64_t elements = 0;
  bool has_rows = true;  ///< False if an element without rows counts as one row.

  RowsTaken& operator+=(const RowsTaken& more) {
    rows += more.rows;
    elements += more.elements;
    has_rows = has_rows && more.has_rows;
    return *this;
  }
};

/// Where a loop over a dataset stands, or begins.
struct LoopPosition {
  RowSet before{};            ///< Rows of all parts that were handed out before the loop.
  std::int64_t rows = 0;      ///< Handed out by the loop, of the part that the loop reads.
  std::int64_t elements = 0;  ///< Handed out since the start of the data; 0: not counted.
  bool has_rows = true;       ///< As RowsTaken, of all steps of the loop.
  bool is_restored = false;   ///< Whether a restore decides where the next loop begins.

  /// The loop hands out a step.
  void hand_out(const RowsTaken& step) {
    // A loop that began behind some rows does not know the number of their elements.
    const bool counts = step.elements > 0 && (elements > 0 || (rows == 0 && before.empty()));
    rows += step.rows;
    elements = counts ? elements + step.elements : 0;
    has_rows = has_rows && step.has_rows;
    is_restored = false;
  }
  /// The next loop begins at the start of the data.
  void end() { *this = {}; }
};

/// The rows of a dataset that a process reads.
struct DataPart {
  /// Whether processes read parts of the data. Without parts all processes count the same rows, or
  /// the process is alone.
  bool is_part = false;
  int parts = 1;  ///< The number of processes that read parts.
  int part = 0;   ///< The number of this process among them; -1: it reads nothing.
};

/// The position in a distributed dataset: the rows that the loop begun last has handed out
/// (SEM-255). Shared by the dataset, its copies, its loops, and checkpoints. A record without an
/// owner and a number: no variable, and restored by failed transactions with the variables.
class DatasetPosition final : public VariableRecord {
 public:
  /// `made`: the call that distributed the dataset.
  DatasetPosition(StrategyCore& core, Recipe recipe, DataPart part, CallSite made)
      : core_(&core), recipe_(std::move(recipe)), part_(part) {
    info.number = std::numeric_limits<std::uint64_t>::max();
    info.created = made;
  }

  StrategyCore* core() const { return core_; }      ///< Of the strategy.
  const Recipe& recipe() const { return recipe_; }  ///< The calls that made the dataset.
  const DataPart& part() const { return part_; }    ///< As in the constructor.

  /// Where the loop begun last stands; before a loop, where the next loop begins.
  const LoopPosition& now() const { return *now_; }
  /// Begins a loop, at the start of the data or at the restored position. Earlier loops no longer
  /// change the position.
  std::shared_ptr<LoopPosition> begin_loop() {
    now_ = now_->is_restored ? std::make_shared<LoopPosition>(*now_)
                             : std::make_shared<LoopPosition>();
    return now_;
  }
  /// The next loop begins here. Present loops go on, and no longer change the position.
  void restore(std::shared_ptr<LoopPosition> position) noexcept { now_ = std::move(position); }
  /// The position is that of the present loop again.
  std::function<void()> snapshot() override {
    return [this, now = now_] { now_ = now; };
  }
  void show(int /*component*/, ValueVisitor& /*visitor*/) const override {}

 private:
  StrategyCore* core_;
  Recipe recipe_;
  DataPart part_;
  std::shared_ptr<LoopPosition> now_ = std::make_shared<LoopPosition>();
};

/// A position as a member of a checkpoint. Throws: as Checkpoint::add.
std::unique_ptr<SavedVariable> saved_position(StrategyCore& core, const std::string& name,
                                              std::shared_ptr<DatasetPosition> position,
                                              CallSite site);

}  // namespace belfry::detail
