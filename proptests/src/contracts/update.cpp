// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// C-init and C-upd: mirrored variables, compared with a plain row.
#include "belfry/current.h"
#include "belfry/tensor_ops.h"
#include "contracts/contract_case.h"
#include "contracts/own_value.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::testing {
namespace {

Row host_row(const Row& row) { return row; }
Row host_row(const Tensor<float>& tensor) { return tensor.to_host(); }

// Requires that all components of `variable` in this process have equal bits, and are `wanted` up
// to the slack. Returns the first.
template <class V>
Row demand_equal_components(Strategy& strategy, const V& variable, const Row& wanted,
                            const char* when, const Slack& slack) {
  const auto components = strategy.local_values(variable);
  demand_own_components(strategy, components);
  const Row first = host_row(*components.begin());
  for (int i = 0; i < components.size(); ++i) {
    if (!components.has(i)) continue;  // Of another process.
    const Row got = host_row(components[i]);
    demand(is_close(got, wanted, slack), component_text(i) + " of " +
                                             std::to_string(components.size()) + ' ' + when +
                                             " is " + text_of(got) + ", not " + text_of(wanted));
    demand(same_bits(got, first), component_text(i) + ' ' + when + " is " + text_of(got) +
                                      ", and the first is " + text_of(first));
  }
  return first;
}

// The components, and what every replica sees.
template <class V>
void demand_value(Strategy& strategy, const V& variable, const Row& wanted, const char* when,
                  const Slack& slack = {}) {
  // A process without devices has no component, and no variable that replicas made.
  Row first;
  if (!strategy.worker_devices().empty()) {
    first = demand_equal_components(strategy, variable, wanted, when, slack);
  }
  const auto seen = strategy.run([&](ReplicaContext& replica) -> std::string {
    const Row got = host_row(variable.on(replica));
    if (same_bits(got, slack.empty() ? wanted : first)) return {};
    return replica_text(replica.replica_id()) + " sees " + text_of(got) + ' ' + when + ", not " +
           text_of(wanted);
  });
  demand_nothing(seen);
}

// Returns a different row for every call: a second call shows.
struct Initialiser {
  std::uint64_t seed;
  int calls = 0;
  Row next() { return random_row(seed, calls++); }
};

// Of several processes, the process of replica 0 makes the call.
void demand_one_call(const Initialiser& initialiser, const ContractFixture& fixture) {
  const bool has_first = !fixture.own().empty() && fixture.own().front() == 0;
  demand(initialiser.calls == (has_first ? 1 : 0),
         "the initialiser ran " + std::to_string(initialiser.calls) + " times");
}

}  // namespace

void check_initial_values(const ContractSubject& subject) {
  const Setting setting = draw_setting(subject);
  const std::uint64_t seed = draw_seed();
  ContractFixture fixture(subject, setting);
  Strategy& strategy = fixture.strategy();
  const Row wanted = random_row(seed, 0);
  Initialiser host{seed};
  Initialiser device{seed};
  Initialiser local{seed};
  Initialiser inside{seed};
  const auto on_host = strategy.mirrored_variable([&] { return host.next(); });
  demand_value(strategy, on_host, wanted, "of a new variable on the host");
  const auto on_device = strategy.mirrored_variable([&] { return tensor_of(device.next()); });
  demand_value(strategy, on_device, wanted, "of a new variable of tensors");
  const auto replica_local =
      strategy.replica_local_variable(ReduceOp::kSum, [&] { return tensor_of(local.next()); });
  demand_value(strategy, replica_local, wanted, "of a new replica-local variable");
  const auto made_inside = strategy.run([&](ReplicaContext&) {
    return strategy.mirrored_variable([&] { return inside.next(); }, {.name = "inside"});
  });
  demand_value(strategy, made_inside, wanted, "of a variable made in replicas");
  for (const Initialiser* one : {&host, &device, &local, &inside}) demand_one_call(*one, fixture);
}

namespace {

enum class Change { kUpdate, kWithMirrored, kWithVariable, kAssignSum, kAssignByOp, kThrows };
constexpr int kNumChanges = 6;

// The variables of one case, and the row that all components of `w` must hold.
struct Updated {
  Updated(Strategy& strategy, std::uint64_t seed)
      : w(strategy.mirrored_variable([&] { return tensor_of(random_row(seed, 0)); })),
        host(strategy.mirrored_variable(random_row(seed, 0))),
        by_sum(strategy.mirrored_variable([&] { return tensor_of(random_row(seed, 0)); },
                                          {.aggregation = Aggregation::kSum})),
        op(drawn_op(seed)),
        by_op(strategy.mirrored_variable(random_row(seed, 0), {.aggregation = aggregation_of(op)})),
        row(random_row(seed, 0)),
        sum_row(row),
        op_row(row) {}

  static ReduceOp drawn_op(std::uint64_t seed) {
    constexpr ReduceOp kOps[] = {ReduceOp::kMean, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kProd};
    return kOps[seed % 4];
  }

  MirroredVariable<Tensor<float>> w;
  MirroredVariable<Row> host;
  MirroredVariable<Tensor<float>> by_sum;
  ReduceOp op;
  MirroredVariable<Row> by_op;
  Row row;
  Row sum_row;
  Row op_row;
  Slack sum_slack{};
  Slack op_slack{};
};

Row plus(Row a, const Row& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

// Counts the calls for each component, and checks the device of each call.
class Calls {
 public:
  explicit Calls(std::vector<DeviceSpec> devices)
      : devices_(std::move(devices)), counts_(devices_.size()) {}
  void note() {
    const auto device = current_update_device();
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      if (device == devices_[i]) {
        ++counts_[i];
        return;
      }
    }
    elsewhere_ = true;
  }
  int total() const {
    int sum = 0;
    for (int one : counts_) sum += one;
    return sum;
  }
  void demand_right() const {
    demand(!elsewhere_, "an update ran away from the devices of its variable");
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      demand(counts_[i] <= 1, "an update ran " + std::to_string(counts_[i]) + " times for " +
                                  component_text(static_cast<int>(i)));
    }
    demand(total() >= 1, "an update never called its function");
  }

 private:
  std::vector<DeviceSpec> devices_;
  std::vector<int> counts_;
  bool elsewhere_ = false;
};

void update(Strategy& strategy, Updated& all, Change change, const Row& by) {
  CrossReplicaContext& cross = strategy.cross_replica();
  Calls calls(all.w.devices());
  const auto mirrored = cross.broadcast(own_value(strategy, [&](int) { return tensor_of(by); }));
  const auto grow = [&](Tensor<float>& component, const Tensor<float>& delta) {
    calls.note();
    component = add(component, delta);
    if (change == Change::kThrows) throw std::runtime_error("on purpose");
    return component;
  };
  if (change == Change::kThrows) {
    try {
      cross.update(all.w, grow, mirrored);
    } catch (const std::runtime_error&) {
      return;
    }
    fail("the exception of an update was swallowed");
  }
  if (change == Change::kWithVariable) {
    cross.update(all.host, [&](Row& row) { row = by; });
    cross.update(
        all.w,
        [&](Tensor<float>& component, const Row& host) {
          calls.note();
          component = add(component, tensor_of(host));
        },
        all.host);
  } else {
    const auto returned = cross.update(all.w, grow, mirrored);
    demand(same_bits(returned.value().to_host(), plus(all.row, by)),
           "an update returned something else than its function");
  }
  calls.demand_right();
  all.row = plus(all.row, by);
}

// Adds the errors of a sum, and the rounding of an addition to the variable.
void add_slack(Slack& slack, const Slack& more, const Row& row) {
  if (more.empty()) return;
  slack.resize(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    slack[i] += more[i] + std::abs(double{row[i]}) * std::numeric_limits<float>::epsilon();
  }
}

void assign(Strategy& strategy, Updated& all, Change change, std::uint64_t seed, double tolerance) {
  const int replicas = strategy.num_replicas();
  const ReduceOp op = change == Change::kAssignSum ? ReduceOp::kSum : all.op;
  const auto brought = [&](int id) { return exact_row(op, seed, id, all.row.size()); };
  std::vector<Row> rows;
  for (int id = 0; id < replicas; ++id) rows.push_back(brought(id));
  const Slack slack = slack_of(tolerance, op, rows);
  if (change == Change::kAssignSum) {
    strategy.run([&](ReplicaContext& replica) {
      replica.assign_add(all.by_sum, tensor_of(brought(replica.replica_id())));
    });
    all.sum_row = plus(all.sum_row, reduced(op, rows));
    add_slack(all.sum_slack, slack, all.sum_row);
  } else {
    strategy.run(
        [&](ReplicaContext& replica) { replica.assign(all.by_op, brought(replica.replica_id())); });
    all.op_row = reduced(op, rows);
    all.op_slack = slack;
  }
}

}  // namespace

void check_update(const ContractSubject& subject) {
  const Setting setting = draw_setting(subject);
  const std::uint64_t seed = draw_seed();
  const auto changes = *rc::gen::resize(5, rc::gen::container<std::vector<int>>(rc::gen::resize(
                                               rc::kNominalSize, rc::gen::inRange(0, kNumChanges))))
                            .as("kinds of changes");
  ContractFixture fixture(subject, setting);
  Strategy& strategy = fixture.strategy();
  Updated all(strategy, seed);
  for (std::size_t step = 0; step < changes.size(); ++step) {
    const auto change = static_cast<Change>(changes[step]);
    if (change == Change::kAssignSum || change == Change::kAssignByOp) {
      assign(strategy, all, change, seed + step, subject.tolerance());
    } else {
      update(strategy, all, change, random_row(seed, static_cast<int>(step) + 1));
    }
    const char* when = change == Change::kThrows ? "after an update that threw" : "after an update";
    demand_value(strategy, all.w, all.row, when);
    demand_value(strategy, all.by_sum, all.sum_row, "after an assignment by sum", all.sum_slack);
    const std::string by_op = "after an assignment by " + to_string(all.op);
    demand_value(strategy, all.by_op, all.op_row, by_op.c_str(), all.op_slack);
    demand(same_bits(strategy.read(all.w).to_host(), all.row), "read gave another value");
  }
}

}  // namespace belfry::testing
