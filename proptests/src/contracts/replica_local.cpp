// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// C-local: replica-local variables belong to their replicas until a program reads, saves or
// restores the variables.
#include "belfry/checkpoint.h"
#include "belfry/tensor_ops.h"
#include "contracts/contract_case.h"

#include <cstring>

namespace belfry::testing {
namespace {

constexpr std::size_t kLength = 4;

// Two variables that are read by `op`, and the values that each replica writes.
struct Locals {
  Locals(Strategy& owner, ReduceOp by, std::uint64_t from, double tolerance)
      : strategy(owner),
        op(by),
        seed(from),
        host(strategy.replica_local_variable(op, Row(kLength), {.name = "host"})),
        device(strategy.replica_local_variable(
            op, [] { return Tensor<float>::full({kLength}, 0.0F); }, {.name = "device"})) {
    slack = slack_of(tolerance, op, rows());
    // A restored total is reduced, restored, and reduced again.
    for (double& one : slack) one *= 3;
  }

  Row own(int id) const { return exact_row(op, seed, id, kLength); }
  std::vector<Row> rows() const {
    std::vector<Row> rows;
    for (int id = 0; id < strategy.num_replicas(); ++id) rows.push_back(own(id));
    return rows;
  }
  // The expected result of a read.
  Row read() const { return reduced(op, rows()); }
  // Component `id` after a restore of `total` that gives a sum to the first component.
  Row restored(int id, const Row& total) const {
    if (id == 0 || (op != ReduceOp::kSum && op != ReduceOp::kProd)) return total;
    return Row(kLength, op == ReduceOp::kProd ? 1.0F : 0.0F);
  }
  Row divided(Row row) const {
    for (float& one : row) one /= static_cast<float>(strategy.num_replicas());
    return row;
  }
  std::string name() const { return "a replica-local " + to_string(op); }

  Strategy& strategy;
  ReduceOp op;
  std::uint64_t seed;
  ReplicaLocalVariable<Row> host;
  ReplicaLocalVariable<Tensor<float>> device;
  Slack slack{};  // Of reductions of the components.
};

void write(const Locals& locals) {
  demand_nothing(locals.strategy.run([&](ReplicaContext& replica) -> std::string {
    const int id = replica.replica_id();
    locals.host.on(replica) = locals.own(id);
    replica.assign_add(locals.device, tensor_of(locals.own(id)));
    replica.all_reduce(ReduceOp::kSum, 1);  // All have written.
    if (!same_bits(locals.host.on(replica), locals.own(id)) ||
        !same_bits(locals.device.on(replica).to_host(), locals.own(id))) {
      return replica_text(id) + " does not see what it wrote to its own component";
    }
    if (locals.device.on(replica).placement() != replica.placement()) {
      return "the component of " + replica_text(id) + " lives on another device";
    }
    return {};
  }));
}

// Component i of both variables is `wanted(i)`.
template <class F>
void demand_components(const Locals& locals, const F& wanted, const std::string& when,
                       const Slack& slack = {}) {
  const auto on_host = locals.strategy.local_values(locals.host);
  const auto on_device = locals.strategy.local_values(locals.device);
  demand(on_device.size() == locals.strategy.num_replicas(),
         "a replica-local variable has not one component for each replica");
  demand_own_components(locals.strategy, on_host);
  demand_own_components(locals.strategy, on_device);
  for (int id = 0; id < on_device.size(); ++id) {
    if (!on_device.has(id)) continue;  // Of another process.
    for (const Row& got : {on_host[id], on_device[id].to_host()}) {
      demand(is_close(got, wanted(id), slack), component_text(id) + " of " + locals.name() +
                                                   " is " + text_of(got) + ' ' + when + ", not " +
                                                   text_of(wanted(id)));
    }
  }
}

void demand_reading(const Locals& locals, const char* when) {
  const Row wanted = locals.read();
  for (const Row& got :
       {locals.strategy.read(locals.host), locals.strategy.read(locals.device).to_host()}) {
    demand(is_close(got, wanted, locals.slack), "reading " + locals.name() + " gave " +
                                                    text_of(got) + ' ' + when + ", not " +
                                                    text_of(wanted));
  }
}

// Saving is reading; restoring splits a sum, gives a product to the first, and anything else to all
// (SEM-55, SEM-56, SEM-254).
void check_file(const Locals& locals) {
  Checkpoint checkpoint(locals.strategy);
  checkpoint.add(locals.host).add(locals.device);
  const TensorFile file = checkpoint.contents();
  const auto own = [&](int id) { return locals.own(id); };
  demand_components(locals, own, "after it was saved");
  const Row saved = locals.read();
  for (const char* name : {"host", "device"}) {
    Row got(kLength);
    const auto& bytes = file.tensors.at(name).bytes;
    std::memcpy(got.data(), bytes.data(), std::min(bytes.size(), kLength * sizeof(float)));
    demand(is_close(got, saved, locals.slack),
           "saving " + locals.name() + " gave " + text_of(got) + ", not " + text_of(saved));
  }
  const bool is_sum = locals.op == ReduceOp::kSum;
  checkpoint.restore(file, {.sums = SumSplit::kDivide, .site = CallSite::here()});
  demand_components(
      locals, [&](int id) { return is_sum ? locals.divided(saved) : locals.restored(id, saved); },
      "restored by division", locals.slack);
  checkpoint.restore(file);
  demand_components(
      locals, [&](int id) { return locals.restored(id, saved); }, "restored", locals.slack);
}

// An update outside the replicas changes each component separately: the components differ
// afterwards.
void check_update_of_each(const Locals& locals) {
  CrossReplicaContext& cross = locals.strategy.cross_replica();
  cross.update(locals.host, [](Row& component) { component[0] += 1; });
  cross.update(locals.device, [](Tensor<float>& component) {
    component = add(component, tensor_of({1, 0, 0, 0}));
  });
  const auto one_more = [&](int id) {
    Row row = locals.own(id);
    row[0] += 1;
    return row;
  };
  demand_components(locals, one_more, "after an update");
  cross.update(locals.host, [](Row& component) { component[0] -= 1; });
  cross.update(locals.device, [](Tensor<float>& component) {
    component = subtract(component, tensor_of({1, 0, 0, 0}));
  });
}

}  // namespace

void check_replica_local(const ContractSubject& subject) {
  const Setting setting = draw_setting(subject);
  const std::uint64_t seed = draw_seed();
  ContractFixture fixture(subject, setting);
  for (const ReduceOp op :
       {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kProd}) {
    const Locals locals(fixture.strategy(), op, seed, subject.tolerance());
    const auto own = [&](int id) { return locals.own(id); };
    write(locals);
    demand_components(locals, own, "after its replica wrote it");
    demand_reading(locals, "after replicas wrote it");
    demand_components(locals, own, "after it was read");
    check_update_of_each(locals);
    check_file(locals);
    if (op != ReduceOp::kMean) demand_reading(locals, "after it was restored");
  }
}

}  // namespace belfry::testing
