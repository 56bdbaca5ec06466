// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "suites/kernels/kernel_mix_machine.h"

#include "belfry/launch.h"
#include "belfry/tensor_ops.h"
#include "suites/kernels/user_kernels.h"
#include "suites/property.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace belfry::testing::kernel_mix {
namespace {

using user_kernels::AddScaled;
using user_kernels::Combine;
using user_kernels::Exchange;
using user_kernels::Reverse;

Vector combined(const Vector& y, const Vector& x) {
  auto z = Vector::uninitialised(x.shape());
  launch(Combine(), reads(y), reads(x), writes(z));
  return z;
}

Vector reversed(const Vector& x) {
  auto z = Vector::uninitialised(x.shape());
  launch(Reverse(), writes(z), scratch(x.any().bytes()), reads(x));
  return z;
}

// Element k is the work of replica k.
PerReplica<Vector> rotated(CrossReplicaContext& cross, const PerReplica<Vector>& values) {
  std::vector<std::pair<Vector, Vector>> pairs;
  pairs.reserve(static_cast<std::size_t>(values.size()));
  for (int id = 0; id < values.size(); ++id) {
    pairs.emplace_back(values[(id + 1) % values.size()], values[id]);
  }
  const auto lists = cross.map(pairs, [](const std::pair<Vector, Vector>& pair) {
    return combined(pair.first.copy_to(pair.second.placement()), pair.second);
  });
  std::vector<std::optional<Vector>> results;
  results.reserve(pairs.size());
  for (const auto& list : lists) results.emplace_back(list[0]);
  return PerReplica<Vector>::from(std::move(results));
}

PerReplica<Vector> reversed_sums(CrossReplicaContext& cross, const PerReplica<Vector>& values) {
  const auto devices = cross.devices();
  const auto sums = cross.update_non_slot(devices, reversed, cross.reduce(ReduceOp::kSum, values));
  std::vector<std::optional<Vector>> results;
  results.reserve(devices.size());
  for (const DeviceSpec& device : devices) results.emplace_back(sums.on(device));
  return PerReplica<Vector>::from(std::move(results));
}

}  // namespace

/// A replica during a program.
class Worker {
 public:
  Worker(Machine& machine, ReplicaContext& replica)
      : machine_(machine),
        replica_(replica),
        memories_(machine.memories_[static_cast<std::size_t>(replica.replica_id())]) {
    for (int index = 0; index < kRegisters; ++index) {
      registers_.push_back(Vector::from(
          {machine.length_}, first_register(replica.replica_id(), index, machine.length_)));
    }
  }

  void run(const Step& step) {
    if (!takes_part(step, replica_.replica_id(), replica_.num_replicas())) return;
    if (is_merge(step.op)) return merge(step);
    try {
      work(step);
    } catch (const InvalidArgumentError& error) {
      if (error.code() != ErrorCode::kInvalidArgument) throw;
      refused_ += 1;
    }
  }

  int refused() const { return refused_; }
  Rows rows() const {
    Rows all;
    for (const Vector& one : registers_) all.push_back(one.to_host());
    return all;
  }

 private:
  static constexpr int kOwn = -1;

  Vector& at(int index) { return registers_[static_cast<std::size_t>(index)]; }
  int& memory_of(int index) { return memory_of_[static_cast<std::size_t>(index)]; }
  std::ptrdiff_t handles(int memory) const { return std::ranges::count(memory_of_, memory); }

  void assign(int index, Vector value, int memory = kOwn) {
    at(index) = std::move(value);
    memory_of(index) = memory;
  }

  void work(const Step& step) {
    Vector& to = at(step.to);
    Vector& from = at(step.from);
    switch (step.op) {
      case Op::kAddScaled:
        return launch(AddScaled{step.number}, updates(to), reads(from));
      case Op::kReverse:
        if (step.to == step.from) return;
        return launch(Reverse(), writes(to), scratch(from.any().bytes()), reads(from));
      case Op::kExchange:
        if (step.to != step.from) launch(Exchange{step.number}, updates(to), updates(from));
        return;
      case Op::kCombine:
        return assign(step.to, combined(to, from));
      case Op::kShare:
        return assign(step.to, Vector(from), memory_of(step.from));
      case Op::kAdd:
        return assign(step.to, to + from);
      case Op::kScale:
        return scale(to, step.number);
      case Op::kFill:
        return assign(step.to, Vector::full(to.shape(), step.number));
      case Op::kWrap:
        return wrap(step);
      case Op::kExchangeLibs:
        return export_and_import(step.to);
      case Op::kReadMirrored:
        return assign(step.to, machine_.mirrored_.on(replica_));
      case Op::kReadLocal:
        return assign(step.to, machine_.local_.on(replica_));
      case Op::kUpdateLocal:
        return launch(AddScaled{step.number}, updates(machine_.local_.on(replica_)), reads(from));
      default:
        return;
    }
  }

  void wrap(const Step& step) {
    const int memory = step.from % kMemories;
    if (handles(memory) != 0) return;
    const auto& own = memories_[static_cast<std::size_t>(memory)];
    assign(step.to, wraps_const(step) ? own.over_const() : own.over(), memory);
  }

  void export_and_import(int index) {
    const bool stays = memory_of(index) != kOwn && handles(memory_of(index)) == 1;
    DlpackPtr lent = to_dlpack(std::move(at(index)));
    at(index) = from_dlpack<std::int32_t>(lent.get());
    [[maybe_unused]] auto* const taken = lent.release();  // Now the tensor's.
    if (!stays) memory_of(index) = kOwn;
  }

  // A sole handle goes along: its storage becomes the storage of the sum.
  Vector sum_in_place(int index) {
    return replica_.all_reduce(ReduceOp::kSum, std::move(at(index)));
  }

  void merge(const Step& step) {
    const Vector& from = at(step.from);
    switch (step.op) {
      case Op::kAllReduce:
        return assign(step.to, step.to == step.from ? sum_in_place(step.to)
                                                    : replica_.all_reduce(ReduceOp::kSum, from));
      case Op::kRotate:
        return assign(step.to, replica_.merge_call(rotated, from));
      case Op::kNonSlot:
        return assign(step.to, replica_.merge_call(reversed_sums, from));
      default:
        return replica_.merge_call(
            [&](CrossReplicaContext& cross, const PerReplica<Vector>& values) {
              cross.update(
                  machine_.mirrored_,
                  [number = step.number](Vector& variable, const Vector& total) {
                    launch(AddScaled{number}, updates(variable), reads(total));
                  },
                  cross.reduce(ReduceOp::kSum, values));
            },
            from);
    }
  }

  Machine& machine_;
  ReplicaContext& replica_;
  const std::vector<OwnMemory<std::int32_t>>& memories_;
  std::vector<Vector> registers_;
  std::vector<int> memory_of_ = std::vector<int>(kRegisters, kOwn);
  int refused_ = 0;
};

Machine::Machine(Strategy& strategy, int length)
    : strategy_(strategy),
      length_(length),
      mirrored_(strategy.mirrored_variable([&] { return Vector::full({length}, kFirstMirrored); })),
      local_(strategy.replica_local_variable(ReduceOp::kSum,
                                             [&] { return Vector::full({length}, kFirstLocal); })) {
  for (int id = 0; id < strategy.num_replicas(); ++id) {
    memories_.emplace_back();
    for (int index = 0; index < kMemories; ++index) {
      memories_.back().emplace_back(strategy.placement(id), first_memory(id, index, length));
    }
  }
}

Outcome Machine::run(const Program& program, const Intruder& intruder) {
  const auto results = strategy_.run([&](ReplicaContext& replica) {
    Worker worker(*this, replica);
    for (std::size_t index = 0; index <= program.steps.size(); ++index) {
      if (intruder) intruder(replica, index);
      if (index < program.steps.size()) worker.run(program.steps[index]);
    }
    meet_with_a_tensor(replica);
    return std::pair(worker.rows(), worker.refused());
  });
  Outcome outcome;
  for (const auto& [rows, refused] : results) {
    outcome.registers.push_back(rows);
    outcome.refused.push_back(refused);
  }
  return outcome;
}

Outcome Machine::with_memories(Outcome outcome) const {
  for (const auto& of_replica : memories_) {
    outcome.memories.emplace_back();
    for (const auto& memory : of_replica) outcome.memories.back().push_back(memory.values());
  }
  for (const Vector& one : strategy_.local_values(mirrored_)) {
    outcome.mirrored.push_back(one.to_host());
  }
  for (const Vector& one : strategy_.local_values(local_)) outcome.local.push_back(one.to_host());
  return outcome;
}

bool Machine::is_released() const {
  return std::ranges::all_of(memories_, [](const auto& of_replica) {
    return std::ranges::all_of(of_replica, [](const auto& one) { return one.is_released(); });
  });
}

}  // namespace belfry::testing::kernel_mix
