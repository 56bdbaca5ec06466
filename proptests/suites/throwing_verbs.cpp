// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Every verb that calls functions of the user's, with points in them, and what it must give.
#include "belfry/checkpoint.h"
#include "belfry/distributed_dataset.h"
#include "belfry/tensor_ops.h"
#include "suites/throwing_stage.h"

#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing {

namespace {

void call_run(Stage& stage) {
  const auto got = stage.strategy.run(
      [&](ReplicaContext& replica, const Fussy& given) {
        stage.point();
        Fussy own = given;
        own.value += id_of(replica);
        return own;
      },
      stage.number(7));
  for (int id = 0; id < stage.replicas(); ++id) {
    stage.expect(got[id].value == 7 + static_cast<float>(id));
  }
}

void call_merge(Stage& stage) {
  const auto total = [&](CrossReplicaContext&, const PerReplica<Fussy>& all) {
    float sum = 0;
    for (const Fussy& one : all) {
      stage.point();
      sum += one.value;
    }
    return stage.number(sum);
  };
  stage.strategy.run([&](ReplicaContext& replica) {
    stage.point();
    const Fussy own = stage.number(id_of(replica));
    const Fussy sum = replica.merge_call(total, own);
    stage.point();
    stage.expect(sum.value == sum_of_ids(stage));
  });
}

void call_all_reduce(Stage& stage) {
  stage.strategy.run([&](ReplicaContext& replica) {
    stage.point();
    const float id = id_of(replica);
    const auto [number, row, tensor] =
        replica.all_reduce(ReduceOp::kSum, std::tuple(stage.number(id), row_of(id), tensor_of(id)));
    stage.point();
    const float sum = sum_of_ids(stage);
    stage.expect(number.value == sum && row == row_of(sum) && tensor.to_host() == row_of(sum));
  });
}

// The sum, and that times ten as what is saved.
struct Total {
  Stage* stage;
  Row combine(Row folded, const Row& next) const {
    stage->point();
    return row_of(folded[0] + next[0]);
  }
  Row finalize(Row folded, int) const {
    stage->point();
    return folded;
  }
  Row on_save(Row value) const {
    stage->point();
    return row_of(value[0] * 10);
  }
  Row on_restore(Row value, int component, int) const {
    stage->point();
    return component == 0 ? row_of(value[0] / 10) : row_of(0);
  }
};

void call_own_reduction(Stage& stage) {
  const Row sum = row_of(sum_of_ids(stage));
  const auto rows = stage.strategy.run([&](ReplicaContext& replica) {
    const Row own = row_of(id_of(replica));
    stage.expect(replica.all_reduce(Total{&stage}, own) == sum);
    stage.point();
    return own;
  });
  stage.expect(stage.strategy.cross_replica().reduce(Total{&stage}, rows).value() == sum);
}

void call_reductions(Stage& stage) {
  const auto reduce = [&](CrossReplicaContext& cross, const PerReplica<TensorRow>& values,
                          const PerReplica<float>& ids) {
    stage.point();
    const auto tensors = cross.reduce(ReduceOp::kSum, values);
    stage.point();
    const auto [again, numbers] = cross.batch_reduce(ReduceOp::kSum, values, ids);
    stage.point();
    const auto same = cross.broadcast(stage.number(numbers.value()));
    stage.point();
    return std::tuple(tensors, again, same);
  };
  stage.strategy.run([&](ReplicaContext& replica) {
    const float id = id_of(replica);
    const auto [one, two, three] = replica.merge_call(reduce, tensor_of(id), id);
    const Row sum = row_of(sum_of_ids(stage));
    stage.point();
    stage.expect(one.to_host() == sum && two.to_host() == sum && three.value == sum[0]);
  });
}

void call_update(Stage& stage) {
  stage.strategy.cross_replica().update(
      stage.host,
      [&](Row& row, float by) {
        stage.point();
        row = row_of(row[0] + by);
      },
      2.0F);
}

void call_update_in_merge(Stage& stage) {
  stage.strategy.run([&](ReplicaContext& replica) {
    stage.point();
    replica.merge_call(
        [&](CrossReplicaContext& cross, const PerReplica<TensorRow>& values) {
          stage.point();
          cross.update(
              stage.tensor,
              [&](TensorRow& component, const TensorRow& sum) {
                stage.point();
                component = add(component, sum);
              },
              cross.reduce(ReduceOp::kSum, values));
        },
        tensor_of(1));
    stage.point();
  });
}

void call_update_each(Stage& stage) {
  const auto returned =
      stage.strategy.cross_replica().update_each(stage.fussy, [&](Fussy& component) {
        stage.point();
        component.value += 1;
        return stage.number(component.value);
      });
  for (const Fussy& one : returned) stage.expect(one.value == returned.front().value);
}

void call_update_of_local(Stage& stage) {
  stage.strategy.cross_replica().update(stage.local_tensor, [&](TensorRow& component) {
    component = multiply(component, 2.0F);
    stage.point();
  });
}

void call_update_non_slot(Stage& stage) {
  const auto devices = stage.strategy.non_slot_devices();
  int calls = 0;
  stage.strategy.cross_replica().update_non_slot(devices, [&] {
    stage.point();
    return stage.number(static_cast<float>(++calls));
  });
  stage.expect(calls == static_cast<int>(devices.size()));
}

void call_gather(Stage& stage) {
  const auto rows = stage.strategy.run([&](ReplicaContext& replica) {
    stage.point();
    const TensorRow all = replica.all_gather(tensor_of(id_of(replica)));
    stage.point();
    stage.expect(all.shape().count() == static_cast<std::int64_t>(kRowLength) * stage.replicas());
    return row_of(id_of(replica));
  });
  const Row all = stage.strategy.cross_replica().gather(rows);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t replica = i / kRowLength;
    stage.expect(all[i] == static_cast<float>(replica));
  }
}

void call_map(Stage& stage) {
  const std::vector<int> elements = {1, 2, 3, 4, 5};
  CrossReplicaContext& cross = stage.strategy.cross_replica();
  const Scope scope = stage.strategy.scope();
  const auto lists = cross.map(
      elements,
      [&](int element, const TensorRow& own) {
        stage.point();
        return add(own, static_cast<float>(element));
      },
      cross.broadcast(tensor_of(1)));
  // 1 + ... + 5, and one more for each of the five.
  stage.expect(cross.reduce_mapped(ReduceOp::kSum, lists)[0].to_host() == row_of(20));
}

void call_fetch(Stage& stage) {
  const TensorRow twice = stage.strategy.cross_replica().fetch(
      stage.tensor, stage.strategy.worker_devices().back(), [&](const TensorRow& value) {
        stage.point();
        const TensorRow sum = add(value, value);
        stage.point();
        return sum;
      });
  const Row now = stage.strategy.read(stage.tensor).to_host();
  stage.expect(twice.to_host() == row_of(2 * now[0]));
}

void call_assign(Stage& stage) {
  stage.strategy.run([&](ReplicaContext& replica) {
    stage.point();
    replica.assign_add(stage.tensor, tensor_of(1 + id_of(replica)));
    stage.point();
    replica.assign(stage.fussy, stage.number(9 + id_of(replica)));
    stage.point();
  });
}

void call_local_writes(Stage& stage) {
  // Somebody else has the tensors too, so that writing them takes memory.
  const auto shared = stage.strategy.local_values(stage.pair);
  stage.strategy.run([&](ReplicaContext& replica) {
    stage.point();
    stage.local.on(replica) = row_of(40 + id_of(replica));
    stage.point();
    replica.assign_add(stage.local_tensor, tensor_of(id_of(replica)));
    stage.point();
    replica.assign_add(stage.pair, Pair(tensor_of(1), tensor_of(1)));
    stage.point();
  });
}

void call_assign_each(Stage& stage) {
  const auto own = stage.strategy.replica_local_variable(Aggregation::kOnlyFirst,
                                                         [&] { return stage.number(1); });
  CrossReplicaContext& cross = stage.strategy.cross_replica();
  try {
    cross.assign_each(own, stage.number(2));
  } catch (const Planted&) {
    stage.planter.disarm();
    stage.expect(are_all(components(stage.strategy, own), 1));
    throw;
  }
  stage.expect(are_all(components(stage.strategy, own), 2));
}

void call_new_variables(Stage& stage) {
  const auto mirrored = stage.strategy.mirrored_variable([&] {
    stage.point();
    return stage.number(6);
  });
  const auto own = stage.strategy.replica_local_variable(ReduceOp::kSum, [&] {
    stage.point();
    return tensor_of(8);
  });
  stage.expect(stage.strategy.read(mirrored).value == 6);
  stage.expect(stage.strategy.read(own).to_host() ==
               row_of(8 * static_cast<float>(stage.replicas())));
}

void call_new_variables_in_replicas(Stage& stage) {
  const auto init = [&] {
    stage.point();
    return tensor_of(6);
  };
  const auto creator = [&](VariableOptions&) { stage.point(); };
  const VariableScope scope = stage.strategy.variable_creator_scope(creator);
  const auto made = stage.strategy.run([&](ReplicaContext& replica) {
    stage.point();
    const auto variable = replica.strategy().mirrored_variable(init);
    stage.point();
    stage.expect(variable.on(replica).to_host() == row_of(6));
    return variable;
  });
  stage.expect(stage.strategy.read(made).to_host() == row_of(6));
}

void call_nested_run(Stage& stage) {
  const auto inner = [&](ReplicaContext& replica, const Fussy& own) {
    stage.point();
    const float sum = replica.all_reduce(ReduceOp::kSum, own.value);
    stage.point();
    return sum + id_of(replica);
  };
  const auto merge = [&](CrossReplicaContext& cross, const PerReplica<Fussy>& values) {
    stage.point();
    return cross.run(inner, values);
  };
  stage.strategy.run([&](ReplicaContext& replica) {
    const float sum = replica.merge_call(merge, stage.number(id_of(replica)));
    stage.point();
    stage.expect(sum == sum_of_ids(stage) + id_of(replica));
  });
}

void call_transaction(Stage& stage) {
  stage.strategy.transaction([&] {
    call_update(stage);
    call_local_writes(stage);
    call_update_each(stage);
    call_update_in_merge(stage);
    stage.point();
  });
}

void call_checkpoint(Stage& stage) {
  Strategy& strategy = stage.strategy;
  const auto first = strategy.mirrored_variable(row_of(1), {.name = "first"});
  const auto second = strategy.replica_local_variable(Total{&stage}, row_of(2), {.name = "second"});
  const auto third = strategy.mirrored_variable([] { return tensor_of(3); }, {.name = "third"});
  Checkpoint checkpoint(strategy);
  checkpoint.add(first).add(second).add(third);
  const auto total = static_cast<float>(2 * stage.replicas());
  const TensorFile file = checkpoint.contents();
  strategy.cross_replica().update(first, [](Row& row) { row = row_of(11); });
  strategy.cross_replica().update(third, [](TensorRow& row) { row = tensor_of(13); });
  try {
    checkpoint.restore(file);
  } catch (const Planted&) {
    stage.planter.disarm();
    stage.expect(are_all(components(strategy, first), 11) &&
                 are_all(components(strategy, second), 2) &&
                 are_all(components(strategy, third), 13));
    throw;
  }
  stage.expect(are_all(components(strategy, first), 1) && are_all(components(strategy, third), 3) &&
               strategy.local_values(second)[0] == row_of(total));
}

void call_input(Stage& stage) {
  const auto numbers = Dataset<float>::tabulate(7, [&](std::int64_t i) {
    stage.point();
    return static_cast<float>(i);
  });
  const auto batches = numbers
                           .map([&](float x) {
                             stage.point();
                             return x + 1;
                           })
                           .batch(2);
  float sum = 0;
  const DistributeOptions options{.end_of_data = EndOfData::kPadWithEmpties,
                                  .elements = ElementUse::kPerReplica,
                                  .prefetch = 1};
  for (const auto& step : stage.strategy.distribute_dataset(batches, options)) {
    const auto sums = stage.strategy.run(
        [&](ReplicaContext& replica, const std::vector<float>& own) {
          stage.point();
          float mine = 0;
          for (float x : own) mine += x;
          return replica.all_reduce(ReduceOp::kSum, mine);
        },
        step);
    sum += sums[0];
  }
  stage.expect(sum == 28);  // 1 + ... + 7
}

void call_input_function(Stage& stage) {
  const auto input = [&](const InputContext& context) {
    stage.point();
    const auto numbers = Dataset<float>::tabulate(7, [&](std::int64_t i) {
      stage.point();
      return static_cast<float>(i + 1);
    });
    return numbers.batch(context.get_per_replica_batch_size(std::int64_t{2} * stage.replicas()));
  };
  float sum = 0;
  const DistributeOptions options{.end_of_data = EndOfData::kPadWithEmpties, .prefetch = 1};
  for (const auto& step : stage.strategy.distribute_datasets_from_function(input, options)) {
    for (const auto& own : step) {
      stage.point();
      for (float x : own) sum += x;
    }
  }
  stage.expect(sum == 28);  // 1 + ... + 7
}

void call_distribute_values(Stage& stage) {
  const auto values = stage.strategy.distribute_values([&](int replica) {
    stage.point();
    return std::pair(stage.number(static_cast<float>(replica)), tensor_of(1));
  });
  for (int id = 0; id < stage.replicas(); ++id) {
    stage.expect(values[id].first.value == static_cast<float>(id));
  }
}

void after_update(StageNumbers& numbers) { numbers.host += 2; }
void after_update_in_merge(StageNumbers& numbers) {
  numbers.tensor += static_cast<float>(numbers.replicas());
}
void after_update_each(StageNumbers& numbers) { numbers.fussy += 1; }
void after_local_writes(StageNumbers& numbers) {
  for (std::size_t id = 0; id < numbers.local.size(); ++id) {
    numbers.local[id] = 40 + static_cast<float>(id);
    numbers.local_tensor[id] += static_cast<float>(id);
    numbers.pair[id] += 1;
  }
}

std::vector<ThrowingVerb> and_reductions(std::vector<ThrowingVerb> verbs) {
  const std::vector<ThrowingVerb> more = throwing_reductions();
  verbs.insert(verbs.end(), more.begin(), more.end());
  return verbs;
}

}  // namespace

const std::vector<ThrowingVerb>& throwing_verbs() {
  static const std::vector<ThrowingVerb> all = and_reductions({
      {"run", call_run, nothing, true},
      {"merge_call", call_merge, nothing, true},
      {"all_reduce", call_all_reduce, nothing, true},
      {"a reduction of the user's", call_own_reduction, nothing, true},
      {"reduce, batch_reduce, broadcast", call_reductions, nothing, true},
      {"update", call_update, after_update, true},
      {"update in a merge", call_update_in_merge, after_update_in_merge, false},
      {"update_each", call_update_each, after_update_each, true},
      {"update of a replica-local variable", call_update_of_local,
       [](StageNumbers& numbers) {
         for (float& one : numbers.local_tensor) one *= 2;
       },
       true},
      {"update_non_slot", call_update_non_slot, nothing, true},
      {"all_gather, gather", call_gather, nothing, true},
      {"map", call_map, nothing, true},
      {"fetch", call_fetch, nothing, true},
      {"assign", call_assign,
       [](StageNumbers& numbers) {
         const int count = numbers.replicas();
         numbers.tensor += static_cast<float>(count * (count + 1)) / 2;
         numbers.fussy = 9;
       },
       false},
      {"writes of replicas", call_local_writes, after_local_writes, false},
      {"assign_each", call_assign_each, nothing, true},
      {"new variables", call_new_variables, nothing, true},
      {"new variables in replicas", call_new_variables_in_replicas, nothing, true},
      {"nested run", call_nested_run, nothing, true},
      {"transaction", call_transaction,
       [](StageNumbers& numbers) {
         after_update(numbers);
         after_local_writes(numbers);
         after_update_each(numbers);
         after_update_in_merge(numbers);
       },
       true},
      {"checkpoint", call_checkpoint, nothing, true},
      {"input", call_input, nothing, true},
      {"input of a function", call_input_function, nothing, true},
      {"distribute_values", call_distribute_values, nothing, true},
  });
  return all;
}

}  // namespace belfry::testing
