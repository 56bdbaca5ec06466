// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "processes/process_program.h"

#include "belfry/sim/backend.h"
#include "belfry/testing/thread_group.h"
#include "processes/device_steps.h"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <string>
#include <utility>

namespace belfry::testing {
namespace {

struct Largest {
  double combine(double folded, double next) const { return std::max(folded, next); }
  double finalize(double folded, int replicas) const { return folded + 0.125 * replicas; }
};

using Lists = std::map<std::string, std::vector<float>>;

double total(const Lists& lists) {
  double sum = 0;
  for (const auto& [name, list] : lists) {
    for (const float element : list) sum += 0.75 * element;
  }
  return sum;
}

// A merge with a merge function; `x` is the present value of the replica.
double step_in_merge(ReplicaContext& replica, Verb verb, double x, bool throws) {
  const auto id = static_cast<std::size_t>(replica.replica_id());
  switch (verb) {
    case Verb::kMergeReduce:
      return replica.merge_call(
          [throws](CrossReplicaContext& cross, const PerReplica<double>& all) {
            if (throws) throw PlannedFault("in a merge");
            return cross.reduce(ReduceOp::kMean, all);
          },
          x);
    case Verb::kMergeBatchReduce:
      return replica.merge_call(
          [](CrossReplicaContext& cross, const PerReplica<double>& a, const PerReplica<float>& b) {
            const auto [sum, other] = cross.batch_reduce(ReduceOp::kSum, a, b);
            return sum.value() - other.value();
          },
          x, float(2 * x));
    case Verb::kMergeBroadcast:
      return replica.merge_call(
          [](CrossReplicaContext& cross, const PerReplica<double>& all) {
            return cross.broadcast(std::optional<double>(*all.begin())).value().value();
          },
          x);
    case Verb::kMergeGather: {
      const auto all = replica.merge_call(
          [](CrossReplicaContext& cross, const PerReplica<std::vector<double>>& lists) {
            return cross.gather(lists);
          },
          std::vector<double>(3 - id % 3, x));
      double sum = 0;
      for (const double element : all) sum = 0.25 * sum + element;
      return sum;
    }
    case Verb::kMergeAxis:
      return replica.merge_call(
          [](CrossReplicaContext& cross, const PerReplica<std::vector<double>>& lists) {
            return cross.reduce(ReduceOp::kMean, lists, Axis(0));
          },
          std::vector<double>(id % 2 + 1, x));
    case Verb::kMergePerReplica:
      // The result of each replica is its own value.
      return 0.5 * replica.merge_call(
                       [](CrossReplicaContext&, const PerReplica<double>& all) { return all; }, x);
    default:
      return x;
  }
}

// A merge; `x` is the present value of the replica.
double step(ReplicaContext& replica, Verb verb, double x, bool throws,
            ProgramVariables& variables) {
  switch (verb) {
    case Verb::kAllReduceSum:
      return replica.all_reduce(ReduceOp::kSum, x);
    case Verb::kAllReduceMean:
      return x - replica.all_reduce(ReduceOp::kMean, x);
    case Verb::kAllReduceVector: {
      const Lists sums =
          replica.all_reduce(ReduceOp::kSum, Lists{{"a", {float(x), 1.5f}}, {"b", {float(-x)}}});
      return total(sums);
    }
    case Verb::kAllReduceCustom:
      return replica.all_reduce(Largest{}, x);
    case Verb::kAllGather: {
      // The list of replica r has r + 1 elements.
      const auto all = replica.all_gather(
          std::vector<double>(static_cast<std::size_t>(replica.replica_id()) + 1, x));
      double sum = 0;
      for (const double element : all) sum = 0.5 * sum + element;
      return sum;
    }
    default:
      return verb < Verb::kTensorSum ? step_in_merge(replica, verb, x, throws)
                                     : step_on_devices(replica, verb, x, variables);
  }
}

Verb other_verb(Verb verb) {
  return verb == Verb::kAllReduceSum ? Verb::kAllGather : Verb::kAllReduceSum;
}

}  // namespace

int ProcessProgram::process_of(int replica) const {
  int process = 0;
  for (int left = replica; left >= devices[static_cast<std::size_t>(process)]; ++process) {
    left -= devices[static_cast<std::size_t>(process)];
  }
  return process;
}

bool ProcessProgram::has_listeners() const {
  std::vector<int> present(devices.size());
  for (int replica = 0; replica < replicas(); ++replica) {
    if (absent[static_cast<std::size_t>(replica)]) continue;
    present[static_cast<std::size_t>(process_of(replica))] += 1;
  }
  return std::ranges::find(present, 0) != present.end();
}

int ProcessProgram::lowest_of(int process) const {
  int replica = 0;
  while (process_of(replica) != process || absent[static_cast<std::size_t>(replica)]) ++replica;
  return replica;
}

ProcessProgram any_program(int processes_at_least) {
  return program_of(*rc::gen::inRange(processes_at_least, 5));
}

ProcessProgram program_of(int processes) {
  ProcessProgram program;
  int replicas = 0;
  for (int i = 0; i < processes; ++i) {
    program.devices.push_back(*rc::gen::inRange(0, 4));
    replicas += program.devices.back();
  }
  if (replicas == 0 || processes == 1) {
    int& devices = program.devices[static_cast<std::size_t>(*rc::gen::inRange(0, processes))];
    replicas += devices == 0 ? 1 : 0;
    devices = std::max(devices, 1);
  }
  const int steps = *rc::gen::inRange(1, 9);
  for (int i = 0; i < steps; ++i) {
    program.verbs.push_back(static_cast<Verb>(*rc::gen::inRange(0, kVerbs)));
  }
  for (int i = 0; i < replicas; ++i) {
    program.values.push_back(*rc::gen::inRange(-100000, 100000) / 3.0);
  }
  // In half of the programs some replicas take no part, sometimes all replicas of a process.
  const bool masks = *rc::gen::arbitrary<bool>();
  const int present = *rc::gen::inRange(0, replicas);
  for (int replica = 0; replica < replicas; ++replica) {
    program.absent.push_back(masks && replica != present && *rc::gen::arbitrary<bool>());
  }
  const int order = *rc::gen::inRange(0, 4);
  if (order == 1) program.order = ReductionOrder::kReplicaOrder;
  if (order == 2) program.order = ReductionOrder::kTree;
  if (order == 3) program.order = ReductionOrder::kRing;
  return program;
}

PerReplica<Trace> run_program(Strategy& strategy, const ProcessProgram& program, double first,
                              Trace* after) {
  ProgramVariables variables(strategy, first);
  std::vector<std::optional<double>> values(program.values.begin(), program.values.end());
  for (std::size_t id = 0; id < values.size(); ++id) {
    if (program.absent[id]) values[id].reset();
  }
  const auto body = [&](ReplicaContext& replica, double x) {
    const int id = replica.replica_id();
    Trace trace;
    for (int i = 0; i < static_cast<int>(program.verbs.size()); ++i) {
      Verb verb = program.verbs[static_cast<std::size_t>(i)];
      bool throws = false;
      if (program.failure && program.failure->step == i) {
        const bool is_here = program.failure->replica == id;
        switch (program.failure->fault) {
          case Fault::kThrow:
            if (is_here) throw PlannedFault("at step " + std::to_string(i));
            break;
          case Fault::kReturn:
            if (is_here) return trace;
            break;
          case Fault::kOtherVerb:
            if (is_here) verb = other_verb(verb);
            break;
          case Fault::kThrowInMerge:
            verb = Verb::kMergeReduce;
            throws = is_here;
            break;
        }
      }
      // The remainder keeps sums of sums small; their digits depend on the order of additions.
      x = std::fmod(step(replica, verb, x, throws, variables), 64) + x / 3;
      if (program.rounds) x = std::nearbyint(8 * x) / 8;
      trace.push_back(x);
    }
    return trace;
  };
  PerReplica<Trace> traces = strategy.run(body, PerReplica<double>::from(std::move(values)));
  if (after != nullptr) {
    const std::vector<double> table = strategy.read(variables.table).to_host();
    const std::vector<float> rows = strategy.read(variables.rows).to_host();
    *after = {strategy.read(variables.weight), table[0], table[1], strategy.read(variables.count),
              double(rows[2])};
  }
  return traces;
}

PerReplica<Trace> run_alone(const ProcessProgram& program, Trace* after) {
  sim::Backend backend{{.devices = program.replicas(), .seed = 11}};
  MirroredStrategy strategy{backend, {.order = program.order}};
  return run_program(strategy, program, 1.25, after);
}

ProcessOutcome run_over_processes(const ProcessProgram& program, std::vector<double>& later) {
  const auto processes = program.devices.size();
  ProcessOutcome outcome;
  outcome.traces.resize(static_cast<std::size_t>(program.replicas()));
  outcome.after.resize(processes);
  outcome.hashes.resize(processes);
  outcome.errors.resize(processes);
  later.resize(processes);
  run_processes(static_cast<int>(processes), [&](ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    sim::Backend backend{{.devices = program.devices[rank], .seed = 3 + rank}, sim::Attachments{}};
    MultiWorkerMirroredStrategy strategy{backend, group, {.order = program.order}};
    try {
      const PerReplica<Trace> traces =
          run_program(strategy, program, program.first_value(group.rank()), &outcome.after[rank]);
      for (int id = 0; id < traces.size(); ++id) {
        if (traces.has(id)) outcome.traces[static_cast<std::size_t>(id)] = traces[id];
      }
    } catch (...) {
      outcome.errors[rank] = std::current_exception();
    }
    const PerReplica<double> ones = strategy.run(
        [](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, 1.0); });
    // A process without devices has no result.
    later[rank] = program.devices[rank] == 0 ? program.replicas() : *ones.begin();
    outcome.hashes[rank] = backend.hash();
  });
  return outcome;
}

}  // namespace belfry::testing
