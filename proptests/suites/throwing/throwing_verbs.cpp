// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Every verb that calls functions of the user, with fault points in the functions, and the expected
// results.
#include "belfry/checkpoint.h"
#include "belfry/distributed_dataset.h"
#include "belfry/tensor_ops.h"
#include "suites/throwing/throwing_fixture.h"

#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing {

namespace {

void call_run(ThrowingFixture& fixture) {
  const auto got = fixture.strategy.run(
      [&](ReplicaContext& replica, const ThrowingNumber& given) {
        fixture.point();
        ThrowingNumber own = given;
        own.value += id_of(replica);
        return own;
      },
      fixture.number(7));
  for (int id = 0; id < fixture.replicas(); ++id) {
    fixture.expect(got[id].value == 7 + static_cast<float>(id));
  }
}

void call_merge(ThrowingFixture& fixture) {
  const auto total = [&](CrossReplicaContext&, const PerReplica<ThrowingNumber>& all) {
    float sum = 0;
    for (const ThrowingNumber& one : all) {
      fixture.point();
      sum += one.value;
    }
    return fixture.number(sum);
  };
  fixture.strategy.run([&](ReplicaContext& replica) {
    fixture.point();
    const ThrowingNumber own = fixture.number(id_of(replica));
    const ThrowingNumber sum = replica.merge_call(total, own);
    fixture.point();
    fixture.expect(sum.value == sum_of_ids(fixture));
  });
}

void call_all_reduce(ThrowingFixture& fixture) {
  fixture.strategy.run([&](ReplicaContext& replica) {
    fixture.point();
    const float id = id_of(replica);
    const auto [number, row, tensor] = replica.all_reduce(
        ReduceOp::kSum, std::tuple(fixture.number(id), row_of(id), tensor_of(id)));
    fixture.point();
    const float sum = sum_of_ids(fixture);
    fixture.expect(number.value == sum && row == row_of(sum) && tensor.to_host() == row_of(sum));
  });
}

// The sum, saved as ten times the sum.
struct Total {
  ThrowingFixture* fixture;
  Row combine(Row folded, const Row& next) const {
    fixture->point();
    return row_of(folded[0] + next[0]);
  }
  Row finalize(Row folded, int) const {
    fixture->point();
    return folded;
  }
  Row on_save(Row value) const {
    fixture->point();
    return row_of(value[0] * 10);
  }
  Row on_restore(Row value, int component, int) const {
    fixture->point();
    return component == 0 ? row_of(value[0] / 10) : row_of(0);
  }
};

void call_own_reduction(ThrowingFixture& fixture) {
  const Row sum = row_of(sum_of_ids(fixture));
  const auto rows = fixture.strategy.run([&](ReplicaContext& replica) {
    const Row own = row_of(id_of(replica));
    fixture.expect(replica.all_reduce(Total{&fixture}, own) == sum);
    fixture.point();
    return own;
  });
  fixture.expect(fixture.strategy.cross_replica().reduce(Total{&fixture}, rows).value() == sum);
}

void call_reductions(ThrowingFixture& fixture) {
  const auto reduce = [&](CrossReplicaContext& cross, const PerReplica<TensorRow>& values,
                          const PerReplica<float>& ids) {
    fixture.point();
    const auto tensors = cross.reduce(ReduceOp::kSum, values);
    fixture.point();
    const auto [again, numbers] = cross.batch_reduce(ReduceOp::kSum, values, ids);
    fixture.point();
    const auto same = cross.broadcast(fixture.number(numbers.value()));
    fixture.point();
    return std::tuple(tensors, again, same);
  };
  fixture.strategy.run([&](ReplicaContext& replica) {
    const float id = id_of(replica);
    const auto [one, two, three] = replica.merge_call(reduce, tensor_of(id), id);
    const Row sum = row_of(sum_of_ids(fixture));
    fixture.point();
    fixture.expect(one.to_host() == sum && two.to_host() == sum && three.value == sum[0]);
  });
}

void call_update(ThrowingFixture& fixture) {
  fixture.strategy.cross_replica().update(
      fixture.host,
      [&](Row& row, float by) {
        fixture.point();
        row = row_of(row[0] + by);
      },
      2.0F);
}

void call_update_in_merge(ThrowingFixture& fixture) {
  fixture.strategy.run([&](ReplicaContext& replica) {
    fixture.point();
    replica.merge_call(
        [&](CrossReplicaContext& cross, const PerReplica<TensorRow>& values) {
          fixture.point();
          cross.update(
              fixture.tensor,
              [&](TensorRow& component, const TensorRow& sum) {
                fixture.point();
                component = add(component, sum);
              },
              cross.reduce(ReduceOp::kSum, values));
        },
        tensor_of(1));
    fixture.point();
  });
}

void call_update_each(ThrowingFixture& fixture) {
  const auto returned = fixture.strategy.cross_replica().update_each(
      fixture.throwing_number, [&](ThrowingNumber& component) {
        fixture.point();
        component.value += 1;
        return fixture.number(component.value);
      });
  for (const ThrowingNumber& one : returned) fixture.expect(one.value == returned.front().value);
}

void call_update_of_local(ThrowingFixture& fixture) {
  fixture.strategy.cross_replica().update(fixture.local_tensor, [&](TensorRow& component) {
    component = multiply(component, 2.0F);
    fixture.point();
  });
}

void call_update_non_slot(ThrowingFixture& fixture) {
  const auto devices = fixture.strategy.non_slot_devices();
  int calls = 0;
  fixture.strategy.cross_replica().update_non_slot(devices, [&] {
    fixture.point();
    return fixture.number(static_cast<float>(++calls));
  });
  fixture.expect(calls == static_cast<int>(devices.size()));
}

void call_gather(ThrowingFixture& fixture) {
  const auto rows = fixture.strategy.run([&](ReplicaContext& replica) {
    fixture.point();
    const TensorRow all = replica.all_gather(tensor_of(id_of(replica)));
    fixture.point();
    fixture.expect(all.shape().count() ==
                   static_cast<std::int64_t>(kRowLength) * fixture.replicas());
    return row_of(id_of(replica));
  });
  const Row all = fixture.strategy.cross_replica().gather(rows);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t replica = i / kRowLength;
    fixture.expect(all[i] == static_cast<float>(replica));
  }
}

void call_map(ThrowingFixture& fixture) {
  const std::vector<int> elements = {1, 2, 3, 4, 5};
  CrossReplicaContext& cross = fixture.strategy.cross_replica();
  const Scope scope = fixture.strategy.scope();
  const auto lists = cross.map(
      elements,
      [&](int element, const TensorRow& own) {
        fixture.point();
        return add(own, static_cast<float>(element));
      },
      cross.broadcast(tensor_of(1)));
  // 1 + ... + 5, and 1 more for each of the five.
  fixture.expect(cross.reduce_mapped(ReduceOp::kSum, lists)[0].to_host() == row_of(20));
}

void call_fetch(ThrowingFixture& fixture) {
  const TensorRow twice = fixture.strategy.cross_replica().fetch(
      fixture.tensor, fixture.strategy.worker_devices().back(), [&](const TensorRow& value) {
        fixture.point();
        const TensorRow sum = add(value, value);
        fixture.point();
        return sum;
      });
  const Row now = fixture.strategy.read(fixture.tensor).to_host();
  fixture.expect(twice.to_host() == row_of(2 * now[0]));
}

void call_assign(ThrowingFixture& fixture) {
  fixture.strategy.run([&](ReplicaContext& replica) {
    fixture.point();
    replica.assign_add(fixture.tensor, tensor_of(1 + id_of(replica)));
    fixture.point();
    replica.assign(fixture.throwing_number, fixture.number(9 + id_of(replica)));
    fixture.point();
  });
}

void call_local_writes(ThrowingFixture& fixture) {
  // Holds the tensors a second time: writing them allocates memory.
  const auto shared = fixture.strategy.local_values(fixture.pair);
  fixture.strategy.run([&](ReplicaContext& replica) {
    fixture.point();
    fixture.local.on(replica) = row_of(40 + id_of(replica));
    fixture.point();
    replica.assign_add(fixture.local_tensor, tensor_of(id_of(replica)));
    fixture.point();
    replica.assign_add(fixture.pair, Pair(tensor_of(1), tensor_of(1)));
    fixture.point();
  });
}

void call_assign_each(ThrowingFixture& fixture) {
  const auto own = fixture.strategy.replica_local_variable(Aggregation::kOnlyFirst,
                                                           [&] { return fixture.number(1); });
  CrossReplicaContext& cross = fixture.strategy.cross_replica();
  try {
    cross.assign_each(own, fixture.number(2));
  } catch (const InjectedFault&) {
    fixture.injector.disarm();
    fixture.expect(are_all(components(fixture.strategy, own), 1));
    throw;
  }
  fixture.expect(are_all(components(fixture.strategy, own), 2));
}

void call_new_variables(ThrowingFixture& fixture) {
  const auto mirrored = fixture.strategy.mirrored_variable([&] {
    fixture.point();
    return fixture.number(6);
  });
  const auto own = fixture.strategy.replica_local_variable(ReduceOp::kSum, [&] {
    fixture.point();
    return tensor_of(8);
  });
  fixture.expect(fixture.strategy.read(mirrored).value == 6);
  fixture.expect(fixture.strategy.read(own).to_host() ==
                 row_of(8 * static_cast<float>(fixture.replicas())));
}

void call_new_variables_in_replicas(ThrowingFixture& fixture) {
  const auto init = [&] {
    fixture.point();
    return tensor_of(6);
  };
  const auto creator = [&](VariableOptions&) { fixture.point(); };
  const VariableScope scope = fixture.strategy.variable_creator_scope(creator);
  const auto made = fixture.strategy.run([&](ReplicaContext& replica) {
    fixture.point();
    const auto variable = replica.strategy().mirrored_variable(init);
    fixture.point();
    fixture.expect(variable.on(replica).to_host() == row_of(6));
    return variable;
  });
  fixture.expect(fixture.strategy.read(made).to_host() == row_of(6));
}

void call_nested_run(ThrowingFixture& fixture) {
  const auto inner = [&](ReplicaContext& replica, const ThrowingNumber& own) {
    fixture.point();
    const float sum = replica.all_reduce(ReduceOp::kSum, own.value);
    fixture.point();
    return sum + id_of(replica);
  };
  const auto merge = [&](CrossReplicaContext& cross, const PerReplica<ThrowingNumber>& values) {
    fixture.point();
    return cross.run(inner, values);
  };
  fixture.strategy.run([&](ReplicaContext& replica) {
    const float sum = replica.merge_call(merge, fixture.number(id_of(replica)));
    fixture.point();
    fixture.expect(sum == sum_of_ids(fixture) + id_of(replica));
  });
}

void call_transaction(ThrowingFixture& fixture) {
  fixture.strategy.transaction([&] {
    call_update(fixture);
    call_local_writes(fixture);
    call_update_each(fixture);
    call_update_in_merge(fixture);
    fixture.point();
  });
}

void call_checkpoint(ThrowingFixture& fixture) {
  Strategy& strategy = fixture.strategy;
  const auto first = strategy.mirrored_variable(row_of(1), {.name = "first"});
  const auto second =
      strategy.replica_local_variable(Total{&fixture}, row_of(2), {.name = "second"});
  const auto third = strategy.mirrored_variable([] { return tensor_of(3); }, {.name = "third"});
  Checkpoint checkpoint(strategy);
  checkpoint.add(first).add(second).add(third);
  const auto total = static_cast<float>(2 * fixture.replicas());
  const TensorFile file = checkpoint.contents();
  strategy.cross_replica().update(first, [](Row& row) { row = row_of(11); });
  strategy.cross_replica().update(third, [](TensorRow& row) { row = tensor_of(13); });
  try {
    checkpoint.restore(file);
  } catch (const InjectedFault&) {
    fixture.injector.disarm();
    fixture.expect(are_all(components(strategy, first), 11) &&
                   are_all(components(strategy, second), 2) &&
                   are_all(components(strategy, third), 13));
    throw;
  }
  fixture.expect(are_all(components(strategy, first), 1) &&
                 are_all(components(strategy, third), 3) &&
                 strategy.local_values(second)[0] == row_of(total));
}

void call_input(ThrowingFixture& fixture) {
  const auto numbers = Dataset<float>::tabulate(7, [&](std::int64_t i) {
    fixture.point();
    return static_cast<float>(i);
  });
  const auto batches = numbers
                           .map([&](float x) {
                             fixture.point();
                             return x + 1;
                           })
                           .batch(2);
  float sum = 0;
  const DistributeOptions options{.end_of_data = EndOfData::kPadWithEmpties,
                                  .elements = ElementUse::kPerReplica,
                                  .prefetch = 1};
  for (const auto& step : fixture.strategy.distribute_dataset(batches, options)) {
    const auto sums = fixture.strategy.run(
        [&](ReplicaContext& replica, const std::vector<float>& own) {
          fixture.point();
          float mine = 0;
          for (float x : own) mine += x;
          return replica.all_reduce(ReduceOp::kSum, mine);
        },
        step);
    sum += sums[0];
  }
  fixture.expect(sum == 28);  // 1 + ... + 7
}

void call_input_function(ThrowingFixture& fixture) {
  const auto input = [&](const InputContext& context) {
    fixture.point();
    const auto numbers = Dataset<float>::tabulate(7, [&](std::int64_t i) {
      fixture.point();
      return static_cast<float>(i + 1);
    });
    return numbers.batch(context.get_per_replica_batch_size(std::int64_t{2} * fixture.replicas()));
  };
  float sum = 0;
  const DistributeOptions options{.end_of_data = EndOfData::kPadWithEmpties, .prefetch = 1};
  for (const auto& step : fixture.strategy.distribute_datasets_from_function(input, options)) {
    for (const auto& own : step) {
      fixture.point();
      for (float x : own) sum += x;
    }
  }
  fixture.expect(sum == 28);  // 1 + ... + 7
}

void call_distribute_values(ThrowingFixture& fixture) {
  const auto values = fixture.strategy.distribute_values([&](int replica) {
    fixture.point();
    return std::pair(fixture.number(static_cast<float>(replica)), tensor_of(1));
  });
  for (int id = 0; id < fixture.replicas(); ++id) {
    fixture.expect(values[id].first.value == static_cast<float>(id));
  }
}

void after_update(ExpectedNumbers& numbers) { numbers.host += 2; }
void after_update_in_merge(ExpectedNumbers& numbers) {
  numbers.tensor += static_cast<float>(numbers.replicas());
}
void after_update_each(ExpectedNumbers& numbers) { numbers.throwing_number += 1; }
void after_local_writes(ExpectedNumbers& numbers) {
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
       [](ExpectedNumbers& numbers) {
         for (float& one : numbers.local_tensor) one *= 2;
       },
       true},
      {"update_non_slot", call_update_non_slot, nothing, true},
      {"all_gather, gather", call_gather, nothing, true},
      {"map", call_map, nothing, true},
      {"fetch", call_fetch, nothing, true},
      {"assign", call_assign,
       [](ExpectedNumbers& numbers) {
         const int count = numbers.replicas();
         numbers.tensor += static_cast<float>(count * (count + 1)) / 2;
         numbers.throwing_number = 9;
       },
       false},
      {"writes of replicas", call_local_writes, after_local_writes, false},
      {"assign_each", call_assign_each, nothing, true},
      {"new variables", call_new_variables, nothing, true},
      {"new variables in replicas", call_new_variables_in_replicas, nothing, true},
      {"nested run", call_nested_run, nothing, true},
      {"transaction", call_transaction,
       [](ExpectedNumbers& numbers) {
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
