// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/tensor_ops.h"
#include "belfry/testing/replica_programs.h"
#include "program_arithmetic.h"

#include <map>
#include <optional>
#include <tuple>

namespace belfry::testing {
namespace {

using TensorRow = Tensor<float>;

TensorRow tensor_of(const Row& row) {
  return TensorRow::from({static_cast<std::int64_t>(row.size())}, row);
}

template <class R>
R row_as(const Row& row) {
  if constexpr (std::is_same_v<R, Row>)
    return row;
  else
    return tensor_of(row);
}
Row host_row(Row row) { return row; }
Row host_row(const TensorRow& row) { return row.to_host(); }

Row raised(Row row, float number) { return plus(std::move(row), number); }
TensorRow raised(const TensorRow& row, float number) { return add(row, number); }

// The update of each mirrored variable.
void change(Row& component, const Row& total) { component = plus(component, total); }
void change(TensorRow& component, const TensorRow& total) {
  component = subtract(total, component);
}

// Whether all replicas belong to this process.
template <class T>
bool has_all(const PerReplica<T>& values) {
  return values.has(0) && values.has(values.size() - 1);
}

// Each replica brings a list of one number.
template <class T>
float in_order(CrossReplicaContext& cross, const PerReplica<std::vector<T>>& values) {
  std::vector<T> all;
  if (has_all(values)) {
    for (const std::vector<T>& value : values) all.push_back(value[0]);
  } else {
    all = cross.gather(values);
  }
  float folded = 0;
  for (T value : all) folded = folded_in_order(folded, static_cast<float>(value));
  return folded;
}
float out_of_order(CrossReplicaContext& cross, const PerReplica<Row>& values) {
  return -in_order(cross, values);
}

class Interpreter {
 public:
  Interpreter(Strategy& strategy, const ReplicaProgram& program)
      : strategy_(strategy), program_(program) {
    const Row two = first_mirrored(program.length, 2);
    const Row three = first_mirrored(program.length, 3);
    const auto tensor = [&] { return tensor_of(three); };
    host_ = strategy.mirrored_variable(two);
    tensor_ = strategy.mirrored_variable(tensor);
    by_sum_ = strategy.mirrored_variable(tensor, {.aggregation = Aggregation::kSum});
    by_mean_ = strategy.mirrored_variable(two, {.aggregation = Aggregation::kMean});
    by_first_ = strategy.mirrored_variable(two, {.aggregation = Aggregation::kOnlyFirst});
    local_ = strategy.replica_local_variable(ReduceOp::kSum, first_mirrored(program.length, 1));
    out_.replicas.resize(static_cast<std::size_t>(strategy.num_replicas()));
  }

  Outcome run(RunOptions options) {
    try {
      strategy_.run(options, [this](ReplicaContext& replica) { play(replica); });
    } catch (const ProgramError& error) {
      note_failure(strategy_.last_failure()->code);
      out_.thrower = error.replica;
    } catch (const Error& error) {
      // Errors that are not failures of the run belong to the caller, for example a replay that
      // does not fit.
      const auto& failure = strategy_.last_failure();
      if (!failure || failure->code != error.code()) throw;
      note_failure(error.code());
    }
    const auto locals = strategy_.local_values(local_);
    for (int r = 0; r < locals.size(); ++r) {
      if (locals.has(r)) out_.replicas[r].local = locals[r];
    }
    MirroredValues& m = out_.mirrored;
    m.host = mirrored(host_);
    m.tensor = mirrored(tensor_);
    m.by_sum = mirrored(by_sum_);
    m.by_mean = mirrored(by_mean_);
    m.by_first = mirrored(by_first_);
    return out_;
  }

 private:
  void note_failure(ErrorCode code) {
    out_.failed = true;
    out_.code = code;
    const std::optional<ErrorReport>& report = strategy_.last_failure();
    if (!report) return;
    for (const ReplicaReport& part : report->replicas) {
      out_.places.emplace_back(part.replica_id, part.site.line);
    }
  }

  template <class R>
  Row mirrored(const MirroredVariable<R>& variable) {
    const PerReplica<R> components = strategy_.local_values(variable);
    const Row first = host_row(strategy_.read(variable));
    for (const R& component : components) {
      if (host_row(component) != first) out_.mirrored.agree = false;
    }
    return first;
  }

  void play(ReplicaContext& replica) {
    const int id = replica.replica_id();
    Row row = first_row(id, program_.length);
    for (const Step& step : program_.steps_of(id)) {
      if (step.deviation == Deviation::kThrows) throw ProgramError(id, "a replica of a program");
      const bool tensor =
          (step.residence == Residence::kTensor) != (step.deviation == Deviation::kOtherType);
      Row brought = row;
      if (step.deviation == Deviation::kLonger) brought.push_back(1);
      if (step.kind <= StepKind::kWriteLocal) {
        row = tensor ? locally<TensorRow>(replica, step, row) : locally<Row>(replica, step, row);
      } else if (step.kind >= StepKind::kAssignSum) {
        assign(replica, step, brought);
      } else {
        Row result =
            tensor ? merge<TensorRow>(replica, step, brought) : merge<Row>(replica, step, brought);
        result.resize(row.size());
        row = quantised(result);
      }
      out_.replicas[static_cast<std::size_t>(id)].rows.push_back(row);
    }
  }

  template <class R>
  Row locally(ReplicaContext& replica, const Step& step, const Row& row) {
    const auto amount = static_cast<float>(step.amount + replica.replica_id());
    if (step.kind == StepKind::kWriteLocal) {
      Row& component = local_.on(replica);
      component = plus(component, row);
      return row;
    }
    if (step.kind == StepKind::kReadMirrored) {
      if constexpr (std::is_same_v<R, Row>)
        return quantised(plus(row, host_.on(replica)));
      else
        return quantised(plus(row, tensor_.on(replica).to_host()));
    }
    if constexpr (std::is_same_v<R, Row>)
      return quantised(plus(plus(row, row), amount));
    else
      return quantised(add(multiply(tensor_of(row), 2.0F), amount).to_host());
  }

  void assign(ReplicaContext& replica, const Step& step, const Row& row) {
    if (step.kind == StepKind::kAssignSum)
      assign_to(by_sum_, replica, step, tensor_of(row));
    else if (step.kind == StepKind::kAssignMean)
      assign_to(by_mean_, replica, step, row);
    else
      assign_to(by_first_, replica, step, row);
  }
  template <class R>
  static void assign_to(const MirroredVariable<R>& variable, ReplicaContext& replica,
                        const Step& step, const R& value) {
    const CallSite site{kProgramFile, step.site};
    if (step.amount % 3 == 0)
      replica.assign(variable, value, site);
    else if (step.amount % 3 == 1)
      replica.assign_add(variable, value, site);
    else
      replica.assign_sub(variable, value, site);
  }

  // Runs at the start of every merge function.
  void enter_merge(const Step& step) {
    out_.merge_sites.push_back(step.site);
    if (step.deviation == Deviation::kMergeThrows) throw ProgramError(-1, "a merge of a program");
  }

  template <class R>
  Row merge(ReplicaContext& replica, const Step& step, const Row& row) {
    switch (step.kind) {
      case StepKind::kMergeSum:
        return merge_sum<R>(replica, step, row);
      case StepKind::kMergeInOrder:
        return merge_in_order(replica, step, row);
      case StepKind::kUpdate:
        return update<R>(replica, step, row);
      case StepKind::kNestedRun:
        return nested_run<R>(replica, step, row);
      case StepKind::kBroadcast:
        return broadcast<R>(replica, step, row);
      default:
        return reduce<R>(replica, step, row);
    }
  }

  template <class R>
  Row merge_sum(ReplicaContext& replica, const Step& step, const Row& row) {
    const CallSite site{kProgramFile, step.site};
    const auto sum = [&](CrossReplicaContext& cross, const PerReplica<R>& rows) {
      enter_merge(step);
      if constexpr (std::is_same_v<R, Row>) {
        if (!has_all(rows)) return cross.reduce(ReduceOp::kSum, rows, site).value();
        Row total(rows[0].size(), 0.0F);
        for (const Row& one : rows) total = plus(total, one);
        return total;
      } else {
        return cross.reduce(ReduceOp::kSum, rows, site);
      }
    };
    const R total = replica.merge_call_at(site, sum, row_as<R>(row));
    return raised(host_row(total), static_cast<float>(step.amount * replica.replica_id()));
  }

  static Row merge_in_order(ReplicaContext& replica, const Step& step, Row row) {
    const CallSite site{kProgramFile, step.site};
    float folded = 0;
    if (step.deviation == Deviation::kOtherType) {
      folded = replica.merge_call_at(site, &in_order<double>, std::vector<double>{row[0]});
    } else if (step.deviation == Deviation::kOtherFunction) {
      folded = replica.merge_call_at(site, &out_of_order, Row{row[0]});
    } else {
      folded = replica.merge_call_at(site, &in_order<float>, Row{row[0]});
    }
    row[0] = folded + static_cast<float>(step.amount);
    return row;
  }

  template <class R>
  static Row reduce(ReplicaContext& replica, const Step& step, const Row& row) {
    const CallSite site{kProgramFile, step.site};
    const bool mean =
        (step.kind == StepKind::kAllReduceMean) != (step.deviation == Deviation::kOtherOp);
    const ReduceOp op = mean ? ReduceOp::kMean : ReduceOp::kSum;
    if (step.kind != StepKind::kAllReduceNest) {
      return host_row(replica.all_reduce(op, row_as<R>(row), site));
    }
    using Leaves = std::tuple<float, std::map<std::string, Row>, R>;
    const Leaves leaves{row[0], {{"row", row}}, raised(row_as<R>(row), 1)};
    const Leaves sums = replica.all_reduce(op, leaves, site);
    return raised(plus(std::get<1>(sums).at("row"), host_row(std::get<2>(sums))),
                  std::get<0>(sums));
  }

  template <class R>
  Row update(ReplicaContext& replica, const Step& step, const Row& row) {
    const CallSite site{kProgramFile, step.site};
    const auto merge = [this, step, site](CrossReplicaContext& cross, const PerReplica<R>& rows) {
      enter_merge(step);
      const Mirrored<R> total = cross.reduce(ReduceOp::kSum, rows, site);
      const auto update = [&](const auto& function) {
        if constexpr (std::is_same_v<R, Row>)
          cross.update(host_, function, total, site);
        else
          cross.update(tensor_, function, total, site);
      };
      // The last of the components that the strategy computes, whatever their number.
      const bool throws = step.deviation == Deviation::kUpdateThrows;
      std::size_t left = 0;
      if (throws) update([&](R&, const R&) { ++left; });
      update([&](R& component, const R& total_here) {
        if (throws && --left == 0) throw ProgramError(-1, "an update of a program");
        change(component, total_here);
      });
    };
    replica.merge_call_at(site, merge, row_as<R>(row));
    return row;
  }

  template <class R>
  Row nested_run(ReplicaContext& replica, const Step& step, const Row& row) {
    const CallSite site{kProgramFile, step.site};
    const auto merge = [this, step, site](CrossReplicaContext& cross, const PerReplica<R>& rows) {
      enter_merge(step);
      return cross.run(
          [site](ReplicaContext& inner, const R& mine) {
            const R sum = inner.all_reduce(ReduceOp::kSum, mine, site);
            return raised(sum, static_cast<float>(inner.replica_id()));
          },
          rows, site);
    };
    return host_row(replica.merge_call_at(site, merge, row_as<R>(row)));
  }

  template <class R>
  Row broadcast(ReplicaContext& replica, const Step& step, const Row& row) {
    const CallSite site{kProgramFile, step.site};
    const auto merge = [this, step, site](CrossReplicaContext& cross, const PerReplica<R>& rows) {
      enter_merge(step);
      const int source = step.amount % cross.num_replicas();
      return cross.broadcast(rows.has(source) ? rows[source] : *rows.begin(), site);
    };
    return plus(row, host_row(replica.merge_call_at(site, merge, row_as<R>(row))));
  }

  Strategy& strategy_;
  const ReplicaProgram& program_;
  MirroredVariable<Row> host_;
  MirroredVariable<TensorRow> tensor_;
  MirroredVariable<TensorRow> by_sum_;
  MirroredVariable<Row> by_mean_;
  MirroredVariable<Row> by_first_;
  ReplicaLocalVariable<Row> local_;
  Outcome out_;
};

}  // namespace

Outcome run_program(Strategy& strategy, const ReplicaProgram& program, RunOptions options) {
  return Interpreter(strategy, program).run(options);
}

}  // namespace belfry::testing
