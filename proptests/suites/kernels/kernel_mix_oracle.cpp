// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Programs of kernel_mix.h on vectors. A register has a row of its own, or the row of a memory that
// it is over: rows of memories never move.
#include "suites/kernels/kernel_mix.h"
#include "suites/kernels/user_kernels.h"

#include <algorithm>
#include <cstddef>

namespace belfry::testing::kernel_mix {
namespace {

using user_kernels::product;
using user_kernels::sum;

constexpr int kOwn = -1;

struct Register {
  Row row;            // Without a memory.
  int memory = kOwn;  // The index of the memory.
  bool is_const = false;
};

/// A replica. Memories behind the first kMemories are those of exports.
class ModelReplica {
 public:
  ModelReplica(int id, int length) : local_(static_cast<std::size_t>(length), kFirstLocal) {
    for (int i = 0; i < kRegisters; ++i) registers_.push_back({first_register(id, i, length)});
    for (int i = 0; i < kMemories; ++i) memories_.push_back(first_memory(id, i, length));
  }

  const Row& value(int index) const {
    const Register& one = registers_[static_cast<std::size_t>(index)];
    return one.memory == kOwn ? one.row : memories_[static_cast<std::size_t>(one.memory)];
  }
  // A new tensor in a register.
  void assign(int index, Row row) { at(index) = {std::move(row)}; }

  void run(const Step& step, const Row& mirrored) {
    const Row x = value(step.from);
    const Row y = value(step.to);
    switch (step.op) {
      case Op::kAddScaled:
        return write(step.to, combined(y, x, 1, step.number));
      case Op::kReverse:
        if (step.to != step.from) write(step.to, Row(x.rbegin(), x.rend()));
        return;
      case Op::kExchange:
        if (step.to != step.from) exchange(step, combined(x, Row(x.size(), 1), 1, step.number), y);
        return;
      case Op::kCombine:
        return assign(step.to, combined(y, x, 3, 1));
      case Op::kShare:
        at(step.to) = Register(at(step.from));
        return;
      case Op::kAdd:
        return assign(step.to, combined(y, x, 1, 1));
      case Op::kScale:
        return write(step.to, combined(y, x, step.number, 0));
      case Op::kFill:
        return assign(step.to, Row(x.size(), step.number));
      case Op::kWrap:
        return wrap(step);
      case Op::kExchangeLibs:
        return export_and_import(step.to);
      case Op::kReadMirrored:
        return assign(step.to, mirrored);
      case Op::kReadLocal:
        return assign(step.to, local_);
      case Op::kUpdateLocal:
        local_ = combined(local_, x, 1, step.number);
        return;
      default:
        return;
    }
  }

  void add_to(Outcome& outcome) const {
    Rows rows;
    for (int index = 0; index < kRegisters; ++index) rows.push_back(value(index));
    outcome.registers.push_back(std::move(rows));
    outcome.memories.emplace_back(memories_.begin(), memories_.begin() + kMemories);
    outcome.local.push_back(local_);
    outcome.refused.push_back(refused_);
  }

  // a * y + b * x.
  static Row combined(const Row& y, const Row& x, std::int32_t a, std::int32_t b) {
    Row row(y.size());
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = sum(product(a, y[i]), product(b, x[i]));
    return row;
  }

 private:
  Register& at(int index) { return registers_[static_cast<std::size_t>(index)]; }
  std::ptrdiff_t handles(int memory) const {
    return std::ranges::count(registers_, memory, &Register::memory);
  }
  bool may_write(int index) {
    const Register& one = at(index);
    return one.memory == kOwn || (!one.is_const && handles(one.memory) == 1);
  }
  void put(int index, const Row& row) {
    Register& one = at(index);
    (one.memory == kOwn ? one.row : memories_[static_cast<std::size_t>(one.memory)]) = row;
  }
  void write(int index, const Row& row) {
    if (may_write(index)) return put(index, row);
    refused_ += 1;
  }
  void exchange(const Step& step, const Row& to, const Row& from) {
    if (!may_write(step.to) || !may_write(step.from)) {
      refused_ += 1;
      return;
    }
    put(step.to, to);
    put(step.from, from);
  }
  void wrap(const Step& step) {
    const int memory = step.from % kMemories;
    if (handles(memory) == 0) at(step.to) = {{}, memory, wraps_const(step)};
  }
  // The export of a memory with one handle is the memory. Every other export is a new memory: of a
  // sole handle the storage of the tensor, else a copy.
  void export_and_import(int index) {
    const int memory = at(index).memory;
    if (memory != kOwn && handles(memory) == 1) return;
    Row row = value(index);
    memories_.push_back(std::move(row));
    at(index) = {{}, static_cast<int>(memories_.size()) - 1, false};
  }

  std::vector<Register> registers_;
  Rows memories_;
  Row local_;
  int refused_ = 0;
};

/// All replicas, and the mirrored variable.
class Model {
 public:
  explicit Model(const Program& program)
      : mirrored_(static_cast<std::size_t>(program.length), kFirstMirrored) {
    for (int id = 0; id < program.backend.devices; ++id) replicas_.emplace_back(id, program.length);
  }

  void run(const Step& step) {
    if (is_merge(step.op)) return merge(step);
    const int count = static_cast<int>(replicas_.size());
    for (int id = 0; id < count; ++id) {
      if (takes_part(step, id, count)) replicas_[static_cast<std::size_t>(id)].run(step, mirrored_);
    }
  }

  Outcome outcome() const {
    Outcome all;
    for (const ModelReplica& replica : replicas_) {
      replica.add_to(all);
      all.mirrored.push_back(mirrored_);
    }
    return all;
  }

 private:
  void merge(const Step& step) {
    Rows values;
    Row total(mirrored_.size(), 0);
    for (const ModelReplica& replica : replicas_) {
      values.push_back(replica.value(step.from));
      total = ModelReplica::combined(total, values.back(), 1, 1);
    }
    if (step.op == Op::kUpdate) {
      mirrored_ = ModelReplica::combined(mirrored_, total, 1, step.number);
      return;
    }
    for (std::size_t id = 0; id < replicas_.size(); ++id) {
      Row result = total;
      if (step.op == Op::kNonSlot) std::ranges::reverse(result);
      if (step.op == Op::kRotate) {
        result = ModelReplica::combined(values[(id + 1) % values.size()], values[id], 3, 1);
      }
      replicas_[id].assign(step.to, std::move(result));
    }
  }

  std::vector<ModelReplica> replicas_;
  Row mirrored_;
};

}  // namespace

Row first_register(int replica, int index, int length) {
  Row row;
  for (int i = 0; i < length; ++i) row.push_back(1000 * replica + 100 * index + i);
  return row;
}

Row first_memory(int replica, int index, int length) {
  Row row;
  for (int i = 0; i < length; ++i) row.push_back(-1000 * replica - 100 * index - i - 1);
  return row;
}

Outcome predict(const Program& program) {
  Model machine(program);
  for (const Step& step : program.steps) machine.run(step);
  return machine.outcome();
}

}  // namespace belfry::testing::kernel_mix
