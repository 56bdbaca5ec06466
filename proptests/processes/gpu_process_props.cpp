// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Random values and programs over the GPUs of several processes, against a single process.
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"
#include "processes/gpu_processes.h"
#include "processes/process_program.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

namespace belfry::testing {
namespace {

// Two or three processes with one to three devices each, on GPUs in any order. A process may have
// two devices on a GPU.
GpuProcesses any_processes() {
  GpuProcesses processes;
  int next = 0;
  const int count = *rc::gen::inRange(2, 4);
  for (int process = 0; process < count; ++process) {
    std::vector<int>& own = processes.gpus.emplace_back();
    const int devices = *rc::gen::inRange(1, 4);
    for (int device = 0; device < devices; ++device) {
      const bool shares = device > 0 && *rc::gen::inRange(0, 4) == 0;
      own.push_back(shares ? own.front() : next++);
    }
    if (*rc::gen::arbitrary<bool>()) std::ranges::reverse(own);
  }
  processes.carrier =
      *rc::gen::element(cuda::Carrier::kConcurrent, cuda::Carrier::kFiber, cuda::Carrier::kBaton);
  return processes;
}

// The tensors of all integer types that NCCL adds, and of some floats.
using Step = std::tuple<std::vector<Tensor<std::int8_t>>, std::vector<Tensor<std::uint8_t>>,
                        std::vector<Tensor<std::int32_t>>, std::vector<Tensor<std::uint32_t>>,
                        std::vector<Tensor<std::int64_t>>, std::vector<Tensor<std::uint64_t>>,
                        std::vector<Tensor<float>>, std::vector<Tensor<Float16>>>;

struct Drawn {
  std::vector<std::vector<Shape>> shapes;  // For each type of Step.
  std::uint64_t seed = 0;
  ReduceOp op = ReduceOp::kSum;
};

Drawn any_values() {
  Drawn drawn;
  for (std::size_t type = 0; type < std::tuple_size_v<Step>; ++type) {
    std::vector<Shape>& own = drawn.shapes.emplace_back();
    for (int left = *rc::gen::inRange(0, 3); left > 0; --left) {
      std::vector<std::int64_t> extents;
      for (int rank = *rc::gen::inRange(0, 3); rank > 0; --rank) {
        extents.push_back(*rc::gen::inRange(0, 7));
      }
      own.emplace_back(std::move(extents));
    }
  }
  drawn.seed = *rc::gen::arbitrary<std::uint64_t>();
  drawn.op = *rc::gen::element(ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kProd);
  return drawn;
}

// Any bits for integers, whose sums and products wrap. For floats whole numbers up to 15, whose
// sums are exact, or 1, 2 and 4, whose products are.
template <class T>
T element_of(ReduceOp op, std::uint64_t bits) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(bits);
  } else {
    const std::uint64_t number = op == ReduceOp::kProd ? std::uint64_t{1} << bits % 3 : bits % 16;
    return static_cast<T>(static_cast<float>(number));
  }
}

template <class T>
std::vector<Tensor<T>> tensors_of(ReduceOp op, const std::vector<Shape>& shapes,
                                  std::uint64_t& bits) {
  std::vector<Tensor<T>> tensors;
  for (const Shape& shape : shapes) {
    std::vector<T> elements;
    for (std::int64_t i = 0; i < shape.count(); ++i) {
      bits = bits * 6364136223846793005U + 1442695040888963407U;
      elements.push_back(element_of<T>(op, bits >> 20));
    }
    tensors.push_back(Tensor<T>::from(shape, elements));
  }
  return tensors;
}

Step value_of(const Drawn& drawn, int replica) {
  std::uint64_t bits = drawn.seed + static_cast<std::uint64_t>(replica) * 7919;
  std::size_t type = 0;
  Step step;
  const auto fill = [&]<class T>(std::vector<Tensor<T>>& tensors) {
    tensors = tensors_of<T>(drawn.op, drawn.shapes[type++], bits);
  };
  std::apply([&](auto&... tensors) { (fill(tensors), ...); }, step);
  return step;
}

// The elements of all tensors as numbers.
std::vector<double> numbers_of(const Step& step) {
  std::vector<double> numbers;
  const auto add = [&](const auto& tensors) {
    for (const auto& tensor : tensors) {
      for (const auto element : tensor.to_host()) numbers.push_back(static_cast<double>(element));
    }
  };
  std::apply([&](const auto&... tensors) { (add(tensors), ...); }, step);
  return numbers;
}

std::vector<double> reduced(Strategy& strategy, const Drawn& drawn) {
  const auto results = strategy.run([&](ReplicaContext& replica) {
    return numbers_of(replica.all_reduce(drawn.op, value_of(drawn, replica.replica_id())));
  });
  for (const auto& result : results) EXPECT_EQ(result, *results.begin());
  return *results.begin();
}

RC_GTEST_PROP(GpuProcesses, ReduceAsOneProcessDoes, ()) {
  testing::asserts("SEM-215", "SEM-252", "SEM-253");
  const GpuProcesses processes = any_processes();
  const Drawn drawn = any_values();
  const sim::SimulatedDriver machine({.gpus = 9, .seed = *rc::gen::arbitrary<std::uint64_t>()});
  HostBackend host(processes.replicas());
  MirroredStrategy alone(host);
  const std::vector<double> expected = reduced(alone, drawn);
  std::vector<std::vector<double>> results(processes.gpus.size());
  on_gpu_processes(processes, [&](GpuProcess& process) {
    results[static_cast<std::size_t>(process.group.rank())] = reduced(process.strategy, drawn);
  });
  for (const auto& result : results) RC_ASSERT(result == expected);
  RC_ASSERT(machine.reports() == std::vector<std::string>{});
  RC_ASSERT(machine.alive() == std::vector<std::string>{});
}

// Verbs that stay on the GPUs and verbs that go through the host, in any sequence. NCCL promises no
// order of additions, so that programs without a named order add eighths, whose sums are exact.
RC_GTEST_PROP(GpuProcesses, RunTheProgramsOfOneProcess, ()) {
  testing::asserts("SEM-215");
  GpuProcesses processes = any_processes();
  ProcessProgram program = any_program(1);
  program.values.clear();
  program.devices.clear();
  program.absent.clear();
  // In half of the programs some replicas take no part, but no process listens: values then go
  // through the host.
  const bool masks = *rc::gen::arbitrary<bool>();
  for (const std::vector<int>& gpus : processes.gpus) {
    program.devices.push_back(static_cast<int>(gpus.size()));
    for (std::size_t device = 0; device < gpus.size(); ++device) {
      program.values.push_back(*rc::gen::inRange(-100, 100));
      program.absent.push_back(masks && device > 0 && *rc::gen::arbitrary<bool>());
    }
  }
  processes.options.order = program.order;
  program.rounds = !program.order;
  const sim::SimulatedDriver machine({.gpus = 9, .seed = *rc::gen::arbitrary<std::uint64_t>()});
  const PerReplica<Trace> expected = run_alone(program);
  std::vector<Trace> traces(program.values.size());
  on_gpu_processes(processes, [&](GpuProcess& process) {
    const double first = program.first_value(process.group.rank());
    const PerReplica<Trace> own = run_program(process.strategy, program, first);
    for (int id = 0; id < own.size(); ++id) {
      if (own.has(id)) traces[static_cast<std::size_t>(id)] = own[id];
    }
  });
  for (int id = 0; id < expected.size(); ++id) {
    RC_ASSERT(traces[static_cast<std::size_t>(id)] == (expected.has(id) ? expected[id] : Trace{}));
  }
  RC_ASSERT(machine.reports() == std::vector<std::string>{});
}

}  // namespace
}  // namespace belfry::testing
