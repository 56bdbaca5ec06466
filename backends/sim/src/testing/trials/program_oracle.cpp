// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "testing/trials/program_oracle.h"

#include "testing/trials/exchange_oracle.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace belfry::sim::testing {
namespace {

using Kind = PublicStep::Kind;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

float as_float(std::size_t number) { return static_cast<float>(number); }

class ProgramOracle {
 public:
  explicit ProgramOracle(const PublicProgram& program)
      : program_(program),
        count_(static_cast<std::size_t>(program.replicas)),
        slots_(count_, 0.0),
        locals_(count_, 0.0),
        own_(count_),
        stopped_(count_, false) {
    for (std::size_t i = 0; i <= count_; ++i) rows_.push_back(as_float(i + 1));
  }

  ProgramOutcome outcome() {
    const std::size_t positions = program_.steps[0].size();
    for (std::size_t i = 0; i < positions && end_.empty(); ++i) {
      for (std::size_t id = 0; id < count_; ++id) {
        if (is_present(id) && !stopped_[id]) take(id, program_.steps[id][i]);
      }
      const Kind kind = program_.steps[0][i].kind;
      if (!is_together(kind)) continue;
      if (has_thrown() && !is_made(kind)) break;
      meet(i);
    }
    if (has_thrown()) end_ = "thrown by a replica";
    return {values(), end_};
  }

 private:
  bool has_thrown() const { return std::ranges::count(stopped_, true) > 0; }
  // The first replica that takes part makes a variable, and the others wait for this one alone
  // (SEM-48).
  bool is_made(Kind kind) const {
    const std::size_t first = program_.masked == 0 ? 1 : 0;
    return (kind == Kind::kMakeVariable || kind == Kind::kMakeLocal) && !stopped_[first];
  }
  bool is_present(std::size_t id) const { return static_cast<int>(id) != program_.masked; }

  Floats& own(std::size_t id) {
    if (own_[id].empty()) own_[id] = {1, 1};
    return own_[id];
  }
  template <class F>
  void change_own(std::size_t id, const F& fn) {
    for (float& x : own(id)) x = fn(x);
  }

  // What a replica does alone; of a merge, before the replica waits.
  void take(std::size_t id, const PublicStep& step) {
    if (is_together(step.kind)) return arrive(id, step);
    const float shared = as_float(step.a % kShared + 2);
    const float number = as_float(step.b + 2 + id);
    switch (step.kind) {
      case Kind::kOwnSlot:
        slots_[id] += number;
        return;
      case Kind::kReadCell:
        slots_[id] = 3 * slots_[id] + cells_[step.a % kCells];
        return;
      case Kind::kReadTotal:
        slots_[id] = 7 * slots_[id] + total_;
        return;
      case Kind::kAddLocal:
        locals_[id] += number;
        return;
      case Kind::kAddShared:
        return change_own(id, [&](float x) { return x + shared; });
      case Kind::kTakeHandle:
        return change_own(id, [&](float) { return shared; });
      case Kind::kLaunchMix:
        return change_own(id, [&](float x) { return number * x + shared; });
      case Kind::kReadOwn:
        slots_[id] = 5 * slots_[id] + static_cast<double>(own(id)[1]);
        return;
      case Kind::kThrow:
        stopped_[id] = true;
        return;
      default:  // kMultiply, kScaleOwn, kCopyAcross, kLaunchOwn.
        return change_own(id, [&](float x) { return number * x; });
    }
  }

  // Row 0 is a second one of replica 0.
  void arrive(std::size_t id, const PublicStep& step) {
    if (step.kind == Kind::kMergeTensors || is_of_tensors(step)) own(id);
    if (step.kind != Kind::kSharded) return;
    for (std::size_t row = id == 0 ? 0 : id + 1; row <= id + 1; ++row) {
      rows_[row] *= as_float(step.b + 2 + id);
    }
  }

  void meet(std::size_t position) {
    const PublicStep& step = program_.steps[0][position];
    if (step.kind == Kind::kSharded) return add_rows(step);
    if (is_exchange(step) || step.kind == Kind::kAllReduce) return exchange(position);
    double sum = 0;
    double weighted = 0;
    std::vector<Floats> tensors;
    for (std::size_t id = 0; id < count_; ++id) {
      if (!is_present(id)) continue;
      sum += slots_[id];
      weighted = 2 * weighted + slots_[id];
      if (step.kind == Kind::kMergeTensors) tensors.push_back(own(id));
    }
    switch (step.kind) {
      case Kind::kMergeCell:
        cells_[step.a % kCells] = 2 * cells_[step.a % kCells] + slots_[0];
        return;
      case Kind::kUpdate:
        total_ = 2 * total_ + sum;
        return;
      case Kind::kAssignAdd:
        total_ += sum;
        return;
      case Kind::kThrowInMerge:
        end_ = "thrown by a merge";
        return;
      case Kind::kNestedRun:
      case Kind::kNestedReduce:
        return run_nested(step.kind == Kind::kNestedReduce);
      default:
        break;
    }
    const double of_tensors =
        tensors.empty() ? 0 : static_cast<double>(folded(ReduceOp::kMean, tensors)[0]);
    for (std::size_t id = 0; id < count_; ++id) {
      if (!is_present(id) || stopped_[id]) continue;
      if (step.kind == Kind::kMakeVariable) change_own(id, [](float x) { return x + 7; });
      if (step.kind == Kind::kMakeLocal) slots_[id] += 2 + slots_[id];
      if (step.kind == Kind::kMergeOwn) slots_[id] += weighted;
      if (step.kind == Kind::kMergeTensors) slots_[id] += of_tensors;
    }
  }

  // All replicas take part in a run without arguments.
  void run_nested(bool reduces) {
    double sum = 0;
    for (std::size_t id = 0; id < count_; ++id) {
      slots_[id] += static_cast<double>(1 + id);
      sum += slots_[id];
    }
    for (double& slot : slots_) slot += reduces ? sum : 0.0;
  }

  void exchange(std::size_t position) {
    std::vector<bool> done(count_, false);
    for (std::size_t id = 0; id < count_; ++id) {
      if (!is_present(id) || done[id]) continue;
      const PublicStep& step = program_.steps[id][position];
      std::vector<const PublicStep*> steps;
      std::vector<std::size_t> ids;
      for (const int member : program_.meeting(static_cast<int>(id), step)) {
        ids.push_back(static_cast<std::size_t>(member));
        steps.push_back(&program_.steps[ids.back()][position]);
        done[ids.back()] = true;
      }
      if (is_of_tensors(step)) {
        std::vector<Floats> rows;
        for (const std::size_t member : ids) rows.push_back(own(member));
        const auto after = ExchangeOracle<float>(steps, rows).after();
        for (std::size_t i = 0; i < ids.size(); ++i) own_[ids[i]] = after[i];
      } else {
        std::vector<Doubles> rows;
        for (const std::size_t member : ids) {
          rows.push_back({slots_[member] + static_cast<double>(member), slots_[member] + 1});
        }
        const auto after = ExchangeOracle<double>(steps, rows).after();
        for (std::size_t i = 0; i < ids.size(); ++i) {
          slots_[ids[i]] = after[i][0] + 3 * after[i][1];
        }
      }
    }
  }

  void add_rows(const PublicStep& step) {
    const std::size_t begin = step.root % count_;
    for (std::size_t id = 0; id < count_; ++id) {
      for (std::size_t j = 0; j < 2; ++j) own(id)[j] += rows_[begin + j];
    }
  }

  // In the order of PublicState::values.
  Doubles values() {
    Doubles values = cells_;
    values.insert(values.end(), slots_.begin(), slots_.end());
    for (std::size_t i = 0; i < kShared; ++i) values.push_back(static_cast<double>(i) + 2);
    for (const Floats& x : own_) values.push_back(x.empty() ? -1.0 : static_cast<double>(x[0]));
    values.push_back(0);  // The buffer of raw writes.
    values.push_back(total_);
    double sum = 0;
    for (const double local : locals_) sum += local;
    values.push_back(sum);
    if (program_.has(Kind::kSharded)) values.insert(values.end(), rows_.begin(), rows_.end());
    return values;
  }

  const PublicProgram& program_;
  std::size_t count_;
  Doubles cells_ = Doubles(kCells, 1.0);
  Doubles slots_;
  Doubles locals_;
  double total_ = 1;
  std::vector<Floats> own_;
  Floats rows_;
  std::vector<bool> stopped_;  // Replicas that have thrown.
  std::string end_;            // The text of the exception.
};

}  // namespace

std::optional<ProgramOutcome> predict(const PublicProgram& program) {
  if (!program.is_private) return std::nullopt;
  for (const auto& of_replica : program.steps) {
    if (of_replica.size() != program.steps[0].size()) return std::nullopt;
  }
  return ProgramOracle(program).outcome();
}

}  // namespace belfry::sim::testing
