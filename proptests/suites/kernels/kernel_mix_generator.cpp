// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "suites/kernels/kernel_mix.h"

#include <tuple>
#include <utility>

namespace belfry::testing::kernel_mix {
namespace {

constexpr int kMostDevices = 4;
constexpr int kMostElements = 5;

void print(const std::vector<Rows>& all, std::ostream& out) {
  for (const Rows& rows : all) {
    out << " [";
    for (const Row& row : rows) {
      out << " (";
      for (const std::int32_t x : row) out << ' ' << x;
      out << " )";
    }
    out << " ]";
  }
}

// Draws kWrap more often than other work: few steps find a tensor over memory else.
rc::Gen<Step> step() {
  constexpr int kMoreWraps = 4;
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(0, kOps + kMoreWraps), rc::gen::inRange(0, kRegisters),
                     rc::gen::inRange(0, kRegisters), rc::gen::arbitrary<std::int32_t>(),
                     rc::gen::inRange(-kMostDevices, kMostDevices)),
      [](const std::tuple<int, int, int, std::int32_t, int>& drawn) {
        const auto& [op, to, from, number, who] = drawn;
        return Step{op < kOps ? static_cast<Op>(op) : Op::kWrap, to, from, number, who};
      });
}

}  // namespace

void showValue(const Program& program, std::ostream& out) {
  out << to_string(program.backend) << ", rows of " << program.length << ':';
  for (const Step& step : program.steps) {
    out << " (" << static_cast<int>(step.op) << ' ' << step.to << ' ' << step.from << ' '
        << step.number << ' ' << step.who << ')';
  }
}

void showValue(const Outcome& outcome, std::ostream& out) {
  out << "registers";
  print(outcome.registers, out);
  out << ", memories";
  print(outcome.memories, out);
  out << ", variables";
  print({outcome.mirrored, outcome.local}, out);
  out << ", refused";
  for (const int count : outcome.refused) out << ' ' << count;
}

rc::Gen<Program> program() {
  return rc::gen::map(
      rc::gen::tuple(backend_request(kMostDevices), rc::gen::inRange(1, kMostElements + 1),
                     rc::gen::container<std::vector<Step>>(step())),
      [](std::tuple<BackendRequest, int, std::vector<Step>> drawn) {
        auto& [backend, length, steps] = drawn;
        return Program{std::move(backend), length, std::move(steps)};
      });
}

}  // namespace belfry::testing::kernel_mix
