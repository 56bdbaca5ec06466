// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "memory/failing_allocator.h"
#include "suites/kernels/own_memory.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace belfry::testing {

/// A backend, a strategy and its variables, made anew for every point at which memory runs out.
struct MemoryFixture {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Strategy> strategy;
  MirroredVariable<Tensor<float>> weights;        ///< Five numbers.
  MirroredVariable<std::vector<double>> history;  ///< Grows.
  std::vector<OwnMemory<float>> memories;         ///< Of each replica, five ones.
};

/// The way a fixture is made.
struct MemorySetting {
  std::function<std::unique_ptr<Backend>()> backend;
  std::function<std::unique_ptr<Strategy>(Backend&)> strategy;
  /// The number of device buffers that are alive; null if the backend does not tell.
  std::function<std::size_t(Backend&)> live_buffers;
  /// The remains of a destroyed fixture, a line each; null if the backend does not tell.
  std::function<std::vector<std::string>()> left_over;
};

enum class Changes : std::uint8_t {
  kNothing,  ///< Variables stay as they are.
  kEach,     ///< `weights` grow by 1, `history` by an element, each by itself.
  kBoth,     ///< Both grow, together or not at all.
};

/// A piece of a program. Memory may run out at any point of the step.
struct MemoryCase {
  const char* name;
  Changes changes;
  std::function<void(MemoryFixture&)> step;
  /// Work on devices fails: a host wait tells of the failure, after the step if the step waits for
  /// nothing.
  bool fails_on_devices = false;
};

/// Adds 1 to `weights`, and an element to `history`.
void advance(CrossReplicaContext& cross, const MemoryFixture& fixture);

/// Carries out the step of a case again and again; allocation number 0, 1, 2, ... of the step
/// fails, until a step needs fewer allocations. After each step (SEM-144):
/// - the variables have their values from before the step or from after the step;
/// - the step has thrown nothing, its usual exception, an error of belfry's or std::bad_alloc;
/// - the report of the failure is whole or missing;
/// - a reduction gives the right sums, and a second step ends as usual;
/// - no device buffer is left over, and no tensor shares an owner of the memories.
/// `warm`: the fixture has carried out the step before. Returns the number of points; failed
/// expectations name the point.
std::uint64_t expect_survival(const MemoryCase& one, const MemorySetting& setting, bool warm,
                              Shortage shortage = Shortage::kOnce);

/// The cases, whatever the backend and the strategy.
std::vector<MemoryCase> memory_cases();
/// Cases with kernels of users and with the memories.
std::vector<MemoryCase> kernel_memory_cases();
/// The cases of the simulator's own functions, on fixtures with simulated devices.
std::vector<MemoryCase> simulator_memory_cases();

}  // namespace belfry::testing
