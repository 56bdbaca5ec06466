// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Communicators over the GPUs of several processes: threads, here, with a backend each.
#include "belfry/cuda/backend.h"
#include "belfry/error.h"
#include "belfry/sim/driver.h"
#include "support_test.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace belfry::cuda::process_links_test {
namespace {

using test::code_of;
using test::first_ranks;
using test::Members;

using Gpus = std::vector<std::vector<int>>;  // Of each process.
// `first` is the number of devices in the processes before.
using Body = std::function<void(Backend&, Communicator&, int first)>;

GroupHealth whole() { return {}; }

using Backends = std::vector<std::unique_ptr<Backend>>;

// A backend on each of two GPUs, for a process each.
Backends two_processes(std::chrono::milliseconds deadline = std::chrono::minutes(1)) {
  Backends backends;
  for (int gpu = 0; gpu < 2; ++gpu) {
    backends.push_back(std::make_unique<Backend>(Options{.devices = {gpu}, .deadline = deadline}));
  }
  return backends;
}

// The offers of the backends, in order; the first leads.
std::vector<std::vector<std::byte>> offers_of(const Backends& backends) {
  std::vector<std::vector<std::byte>> offers;
  for (const auto& backend : backends) {
    offers.push_back(backend->offer(first_ranks(backend->device_count()), offers.empty()));
  }
  return offers;
}

// `body` in each process, with the communicator over all processes.
void on_processes(const Gpus& gpus, const Body& body, bool warm_up = false) {
  Backends backends;
  for (const std::vector<int>& own : gpus) {
    backends.push_back(std::make_unique<Backend>(Options{.devices = own, .warm_up = warm_up}));
  }
  const auto offers = offers_of(backends);
  std::vector<std::jthread> threads;
  int first = 0;
  for (std::size_t process = 0; process < gpus.size(); ++process) {
    threads.emplace_back([&, process, first] {
      Backend& backend = *backends[process];
      const ProcessJoin all{offers, static_cast<int>(process), whole};
      const auto joined = backend.join(first_ranks(backend.device_count()), all);
      body(backend, *joined, first);
    });
    first += static_cast<int>(gpus[process].size());
  }
}

// A GPU each; unequal numbers; two devices on a GPU, beside a process with a device for each GPU.
const std::vector<Gpus> kMachines = {
    {{0}, {1}}, {{0, 1}, {2}}, {{3}, {1, 0}, {2, 4, 5}}, {{0, 0}, {1}}, {{0}, {1, 2, 1}, {3, 3}}};

int replicas_of(const Gpus& gpus) {
  int replicas = 0;
  for (const auto& own : gpus) replicas += static_cast<int>(own.size());
  return replicas;
}

// Rank r brings 1 + r: the sum of n ranks is n (n + 1) / 2, and the mean (n + 1) / 2.
TEST(ProcessLinks, AddAndDivideOverAllProcesses) {
  for (const Gpus& gpus : kMachines) {
    const sim::SimulatedDriver machine({.gpus = 6});
    const int n = replicas_of(gpus);
    on_processes(gpus, [&](Backend& backend, Communicator& joined, int first) {
      EXPECT_EQ(joined.size(), n);
      EXPECT_EQ(std::ssize(joined.local_ranks()), backend.device_count());
      EXPECT_EQ(joined.local_ranks().front(), first);
      EXPECT_EQ(joined.order(), ReductionOrder::kUnspecified);
      Members sums(backend, 1.0F + static_cast<float>(first));
      joined.all_reduce(ReduceOp::kSum, sums.parts);
      Members means(backend, 1.0F + static_cast<float>(first));
      joined.all_reduce(ReduceOp::kMean, means.parts);
      for (std::size_t member = 0; member < sums.parts.size(); ++member) {
        EXPECT_EQ(sums.value(member), static_cast<float>(n * (n + 1) / 2));
        EXPECT_EQ(means.value(member), static_cast<float>(n + 1) / 2);
      }
    });
    EXPECT_EQ(machine.reports(), std::vector<std::string>{});
    EXPECT_EQ(machine.alive(), std::vector<std::string>{});
  }
}

TEST(ProcessLinks, BroadcastFromEachRank) {
  for (const Gpus& gpus : kMachines) {
    const sim::SimulatedDriver machine({.gpus = 6});
    on_processes(gpus, [&](Backend& backend, Communicator& joined, int first) {
      for (int root = 0; root < joined.size(); ++root) {
        Members members(backend, 1.0F + static_cast<float>(first));
        joined.broadcast(root, members.parts);
        for (std::size_t member = 0; member < members.parts.size(); ++member) {
          EXPECT_EQ(members.value(member), 1.0F + static_cast<float>(root));
        }
      }
    });
    EXPECT_EQ(machine.reports(), std::vector<std::string>{});
  }
}

// Process after process, and in a process device after device.
TEST(ProcessLinks, GatherInTheOrderOfRanks) {
  for (const Gpus& gpus : kMachines) {
    const sim::SimulatedDriver machine({.gpus = 6});
    on_processes(gpus, [&](Backend& backend, Communicator& joined, int first) {
      const auto n = static_cast<std::size_t>(joined.size());
      Members members(backend, static_cast<float>(first));
      for (std::size_t member = 0; member < members.parts.size(); ++member) {
        CollectivePart& part = members.parts[member];
        const BufferPtr table =
            backend.device(static_cast<int>(member)).allocate(n * sizeof(float), *part.stream);
        part.output = view_of(table, DType::kFloat32);
      }
      joined.all_gather(members.parts);
      for (const CollectivePart& part : members.parts) {
        std::vector<float> all(n);
        part.stream->read(all.data(), part.output);
        for (std::size_t rank = 0; rank < n; ++rank) EXPECT_EQ(all[rank], static_cast<float>(rank));
      }
    });
    EXPECT_EQ(machine.reports(), std::vector<std::string>{});
  }
}

// Three members: a small and a large collective for each.
TEST(ProcessLinks, WarmUpIfAllProcessesDo) {
  const sim::SimulatedDriver machine({.gpus = 3});
  on_processes({{0, 1}, {2}}, [](Backend&, Communicator&, int) {}, true);
  EXPECT_EQ(machine.calls("ncclAllReduce"), 6U);
}

TEST(ProcessLinks, ReduceTheTypesOfTheirCommunicators) {
  const sim::SimulatedDriver machine({.gpus = 2});
  on_processes({{0}, {1}}, [](Backend& backend, Communicator& joined, int) {
    for (int type = 0; type < kNumDTypes; ++type) {
      const auto dtype = static_cast<DType>(type);
      if (dtype != DType::kBool) {
        EXPECT_EQ(backend.reduces(dtype), joined.supports(dtype)) << to_string(dtype);
      }
    }
    EXPECT_FALSE(backend.reduces(DType::kBool));
  });
}

TEST(ProcessLinks, CheckRootsAndLengthsOverAllRanks) {
  const sim::SimulatedDriver machine({.gpus = 3});
  on_processes({{0, 1}, {2}}, [](Backend& backend, Communicator& joined, int) {
    Members members(backend);
    EXPECT_EQ(code_of([&] { joined.broadcast(3, members.parts); }), ErrorCode::kInvalidArgument);
    EXPECT_EQ(code_of([&] { joined.broadcast(-1, members.parts); }), ErrorCode::kInvalidArgument);
    // Three ranks: outputs are three times as long as inputs.
    EXPECT_EQ(code_of([&] { joined.all_gather(members.parts); }), ErrorCode::kStructure);
  });
}

TEST(ProcessLinks, RefuseTheHost) {
  const sim::SimulatedDriver machine({.gpus = 1});
  Backend backend;
  const std::vector<int> host = {backend.device_count()};
  EXPECT_EQ(code_of([&] { backend.offer(host, true); }), ErrorCode::kUnsupported);
}

TEST(ProcessLinks, RefuseAGpuOfTwoProcesses) {
  const sim::SimulatedDriver machine({.gpus = 1});
  Backends backends;
  for (int process = 0; process < 2; ++process) backends.push_back(std::make_unique<Backend>());
  const auto offers = offers_of(backends);
  std::vector<std::jthread> threads;
  for (int process = 0; process < 2; ++process) {
    threads.emplace_back([&, process] {
      Backend& backend = *backends[static_cast<std::size_t>(process)];
      const ProcessJoin all{offers, process, whole};
      EXPECT_EQ(code_of([&] { backend.join(first_ranks(1), all); }), ErrorCode::kUnsupported);
    });
  }
}

// Process 1 never joins. The limit is the shorter of both deadlines.
TEST(ProcessLinks, GiveUpAProcessThatDoesNotJoin) {
  for (const bool of_group : {false, true}) {
    const sim::SimulatedDriver machine({.gpus = 2});
    const std::chrono::milliseconds own(of_group ? 60'000 : 30);
    const Backends backends = two_processes(own);
    const auto offers = offers_of(backends);
    const auto health = [&] {
      GroupHealth health;
      if (of_group) health.deadline = Deadline::milliseconds(30);
      return health;
    };
    try {
      backends[0]->join(first_ranks(1), {offers, 0, health});
      FAIL() << "a communicator of a single process";
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.code(), ErrorCode::kDeviceLost);
      EXPECT_NE(std::string(error.what()).find("making communicators did not end within 30 ms"),
                std::string::npos)
          << error.what();
    }
    EXPECT_EQ(machine.calls("ncclCommAbort"), 1U);
  }
}

// The limits are long; the loss of process 1 ends the wait.
TEST(ProcessLinks, NameALostProcess) {
  const sim::SimulatedDriver machine({.gpus = 2});
  const Backends backends = two_processes();
  const auto offers = offers_of(backends);
  const auto health = [] { return GroupHealth{.lost = {1}, .reason = "it has left"}; };
  try {
    backends[0]->join(first_ranks(1), {offers, 0, health});
    FAIL() << "a communicator of a single process";
  } catch (const ProcessLostError& error) {
    EXPECT_NE(std::string(error.what()).find("process 1 of a communicator is lost"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace belfry::cuda::process_links_test
