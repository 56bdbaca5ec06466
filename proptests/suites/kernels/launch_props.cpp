// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Random programs of kernels of users, kernels of belfry, copies of handles and reductions give the
// numbers of the same program on vectors.
#include "belfry/launch.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "suites/kernels/user_kernels.h"
#include "suites/property.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing::launch_props {
namespace {

using user_kernels::AddScaled;
using user_kernels::Fails;
using user_kernels::product;
using user_kernels::Reverse;
using user_kernels::sum;

constexpr int kRegisters = 4;

using Row = std::vector<std::int32_t>;
using Rows = std::vector<Row>;                        // The registers of a replica.
using Registers = std::vector<Tensor<std::int32_t>>;  // The same on a device.

enum class Op : std::uint8_t { kAddScaled, kReverse, kShare, kAdd, kScale, kFill, kAllReduce };

struct Step {
  Op op = Op::kFill;
  int to = 0;
  int from = 0;
  std::int32_t number = 0;
};

struct Program {
  BackendRequest backend;
  int length = 1;
  std::vector<Step> steps;
};

void showValue(const Program& program, std::ostream& out) {
  out << to_string(program.backend) << ", rows of " << program.length << ':';
  for (const Step& step : program.steps) {
    out << " (" << static_cast<int>(step.op) << ' ' << step.to << ' ' << step.from << ' '
        << step.number << ')';
  }
}

rc::Gen<Program> program() {
  const auto step = rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(0, 7), rc::gen::inRange(0, kRegisters),
                     rc::gen::inRange(0, kRegisters), rc::gen::arbitrary<std::int32_t>()),
      [](const std::tuple<int, int, int, std::int32_t>& drawn) {
        return Step{static_cast<Op>(std::get<0>(drawn)), std::get<1>(drawn), std::get<2>(drawn),
                    std::get<3>(drawn)};
      });
  return rc::gen::map(rc::gen::tuple(backend_request(), rc::gen::inRange(1, 6),
                                     rc::gen::container<std::vector<Step>>(step)),
                      [](const std::tuple<BackendRequest, int, std::vector<Step>>& drawn) {
                        return Program{std::get<0>(drawn), std::get<1>(drawn), std::get<2>(drawn)};
                      });
}

Row first_row(int replica, int index, int length) {
  Row row;
  for (int i = 0; i < length; ++i) row.push_back(1000 * replica + 100 * index + i);
  return row;
}

void run_on_vectors(const Step& step, std::vector<Rows>& replicas) {
  const auto to = static_cast<std::size_t>(step.to);
  const auto from = static_cast<std::size_t>(step.from);
  Row total(replicas[0][to].size(), 0);
  for (const Rows& rows : replicas) {
    for (std::size_t i = 0; i < total.size(); ++i) total[i] = sum(total[i], rows[from][i]);
  }
  for (Rows& rows : replicas) {
    const Row x = rows[from];
    Row& y = rows[to];
    if (step.op == Op::kReverse && to != from) std::ranges::reverse_copy(x, y.begin());
    if (step.op == Op::kShare) y = x;
    if (step.op == Op::kFill) std::ranges::fill(y, step.number);
    if (step.op == Op::kAllReduce) y = total;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (step.op == Op::kAddScaled) y[i] = sum(y[i], product(step.number, x[i]));
      if (step.op == Op::kAdd) y[i] = sum(y[i], x[i]);
      if (step.op == Op::kScale) y[i] = product(y[i], step.number);
    }
  }
}

void run_on_device(const Step& step, Registers& registers, ReplicaContext& replica) {
  auto& to = registers[static_cast<std::size_t>(step.to)];
  const auto& from = registers[static_cast<std::size_t>(step.from)];
  switch (step.op) {
    case Op::kAddScaled:
      return launch(AddScaled{step.number}, updates(to), reads(from));
    case Op::kReverse:
      if (step.to == step.from) return;
      return launch(Reverse(), writes(to), scratch(from.any().bytes()), reads(from));
    case Op::kShare:
      to = from;
      return;
    case Op::kAdd:
      to = to + from;
      return;
    case Op::kScale:
      scale(to, step.number);
      return;
    case Op::kFill:
      to = Tensor<std::int32_t>::full(to.shape(), step.number);
      return;
    case Op::kAllReduce:
      to = replica.all_reduce(ReduceOp::kSum, from);
      return;
  }
}

Registers first_registers(int replica, int length) {
  Registers registers;
  for (int index = 0; index < kRegisters; ++index) {
    registers.push_back(Tensor<std::int32_t>::from({length}, first_row(replica, index, length)));
  }
  return registers;
}

// The registers of all replicas after a program.
std::vector<Rows> on_devices(Strategy& strategy, const Program& program) {
  const auto rows = strategy.run([&](ReplicaContext& replica) {
    Registers registers = first_registers(replica.replica_id(), program.length);
    for (const Step& step : program.steps) run_on_device(step, registers, replica);
    meet_with_a_tensor(replica);
    Rows own;
    for (const auto& one : registers) own.push_back(one.to_host());
    return own;
  });
  return {rows.begin(), rows.end()};
}
std::vector<Rows> on_vectors(const Program& program) {
  std::vector<Rows> replicas;
  for (int replica = 0; replica < program.backend.devices; ++replica) {
    replicas.emplace_back();
    for (int index = 0; index < kRegisters; ++index) {
      replicas.back().push_back(first_row(replica, index, program.length));
    }
  }
  for (const Step& step : program.steps) run_on_vectors(step, replicas);
  return replicas;
}

class LaunchProps : public Property {};

TEST_F(LaunchProps, MixesOfKernelsGiveTheNumbersOfVectors) {
  testing::asserts("SEM-170", "SEM-171");
  holds([this] {
    const Program drawn = *program();
    Bench bench(*this, drawn.backend);
    RC_ASSERT(on_devices(bench.strategy(), drawn) == on_vectors(drawn));
  });
}

TEST_F(LaunchProps, AFailingBodyAnywhereEndsTheRunAndNothingElse) {
  testing::asserts("SEM-173");
  holds([this] {
    const Program drawn = *program();
    const auto at = *rc::gen::inRange<std::size_t>(0, drawn.steps.size() + 1);
    const int who = *rc::gen::inRange(0, drawn.backend.devices);
    Bench bench(*this, drawn.backend);
    Strategy& strategy = bench.strategy();
    const auto failing = [&](ReplicaContext& replica) {
      Registers registers = first_registers(replica.replica_id(), drawn.length);
      for (std::size_t i = 0; i <= drawn.steps.size(); ++i) {
        if (i == at && replica.replica_id() == who) launch(Fails(), updates(registers[0]));
        if (i < drawn.steps.size()) run_on_device(drawn.steps[i], registers, replica);
      }
      for (const auto& one : registers) one.to_host();
    };
    RC_ASSERT_THROWS_AS(strategy.run(failing), std::runtime_error);
    RC_ASSERT(on_devices(strategy, drawn) == on_vectors(drawn));
  });
}

}  // namespace
}  // namespace belfry::testing::launch_props
