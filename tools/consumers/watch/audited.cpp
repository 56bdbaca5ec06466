// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Programs with writes that no watch sees, in an exploration with an audit: the verdict names the
// memory. With ordinary writes to the same memory the programs are certified. Exits with 1 if a
// verdict differs.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/sim/explore.h>
#include <belfry/sim/verdict.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

long numbers_of_the_program[2];

namespace {

using namespace belfry;
using Write = void (*)(long* to);

void seen_write(long* to) { *to = 7; }
void hidden_write(long* to) {
#ifdef __x86_64__
  __asm__ volatile("movq %1, (%0)" : : "r"(to), "r"(7L) : "memory");
#else
  __asm__ volatile("str %1, [%0]" : : "r"(to), "r"(7L) : "memory");
#endif
}

// Of three replicas, `odd` writes with `write`, and the others see their numbers alone.
long run(sim::Backend& backend, long* numbers, int odd, Write write) {
  MirroredStrategy strategy{backend};
  strategy.run([&](ReplicaContext& replica) {
    if (replica.replica_id() == odd) write(numbers);
    replica.all_reduce(ReduceOp::kSum, 1);
  });
  return numbers[0];
}

using Program = long (*)(sim::Backend& backend, int odd, Write write);
long in_a_variable(sim::Backend& backend, int odd, Write write) {
  numbers_of_the_program[0] = 1;
  return run(backend, numbers_of_the_program, odd, write);
}
long in_a_block(sim::Backend& backend, int odd, Write write) {
  std::vector<long> numbers(2);
  return run(backend, numbers.data(), odd, write);
}
long in_a_frame(sim::Backend& backend, int odd, Write write) {
  long numbers[2] = {1, 1};
  return run(backend, numbers, odd, write);
}

bool is_right(const char* name, Program program, int odd, Write write, const std::string& named) {
  const sim::Verdict verdict =
      sim::explore({.devices = 3, .audit_watch = true},
                   [&](sim::Backend& backend) { return program(backend, odd, write); });
  const std::string text = explain(verdict);
  const bool is_named = text.find(named) != text.npos;
  const auto level = named.empty() ? sim::VerdictLevel::kCertified : sim::VerdictLevel::kSampled;
  if (verdict.level() == level && is_named) return true;
  std::printf("%s, replica %d, '%s' expected:\n%s", name, odd, named.c_str(), text.c_str());
  return false;
}

}  // namespace

int main() {
  int failed = 0;
  const auto check = [&](const char* name, Program program, const std::string& named) {
    for (int odd = 0; odd < 3; ++odd) {
      const std::string by =
          " changed in R" + std::to_string(odd) + " of run 1 without a seen write";
      failed += is_right(name, program, odd, hidden_write, named + by) ? 0 : 1;
      failed += is_right(name, program, odd, seen_write, "") ? 0 : 1;
    }
  };
  check("a variable", in_a_variable, "the variable numbers_of_the_program");
  check("a block", in_a_block, "byte 0 of a block of 16 bytes");
  check("a frame", in_a_frame, "a variable of a function with a run");
  std::printf("%d verdicts differ\n", failed);
  return failed == 0 ? 0 : 1;
}
