// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Communicators over the GPUs of several processes: threads, here, with a backend each.
#include "belfry/cuda/backend.h"
#include "belfry/error.h"
#include "belfry/sim/driver.h"
#include "support_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
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
      joined.run({.kind = CollectiveKind::kAllReduce, .parts = sums.parts});
      Members means(backend, 1.0F + static_cast<float>(first));
      joined.run({.kind = CollectiveKind::kAllReduce, .parts = means.parts, .op = ReduceOp::kMean});
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
        joined.run({.kind = CollectiveKind::kBroadcast, .parts = members.parts, .root = root});
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
      joined.run({.kind = CollectiveKind::kAllGather, .parts = members.parts});
      for (const CollectivePart& part : members.parts) {
        std::vector<float> all(n);
        part.stream->read(all.data(), part.output);
        for (std::size_t rank = 0; rank < n; ++rank) EXPECT_EQ(all[rank], static_cast<float>(rank));
      }
    });
    EXPECT_EQ(machine.reports(), std::vector<std::string>{});
  }
}

// Memory on the stream of a member, with elements.
BufferView numbers(Backend& backend, std::size_t member, const std::vector<float>& contents) {
  belfry::Device& device = backend.device(static_cast<int>(member));
  belfry::Stream& stream = device.communication_stream();
  const BufferView view =
      view_of(device.allocate(contents.size() * sizeof(float), stream), DType::kFloat32);
  stream.write(view, contents.data());
  return view;
}

std::vector<float> contents_of(const BufferView& view, belfry::Stream& stream) {
  std::vector<float> contents(view.count);
  stream.read(contents.data(), view);
  return contents;
}

// Rank r brings i + r at place i, and keeps r % 3 elements: element i of n ranks is
// n i + n (n - 1) / 2. With equal counts each rank keeps two elements.
TEST(ProcessLinks, ScatterTheSumsInTheOrderOfRanks) {
  for (const Gpus& gpus : kMachines) {
    for (const bool is_even : {true, false}) {
      const sim::SimulatedDriver machine({.gpus = 6});
      on_processes(gpus, [&](Backend& backend, Communicator& joined, int first) {
        const int n = joined.size();
        std::vector<std::size_t> counts;
        for (int rank = 0; rank < n; ++rank) {
          counts.push_back(is_even ? 2 : static_cast<std::size_t>(rank) % 3);
        }
        const std::size_t all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
        Members members(backend);
        for (std::size_t member = 0; member < members.parts.size(); ++member) {
          const std::size_t rank = static_cast<std::size_t>(first) + member;
          std::vector<float> input(all);
          std::iota(input.begin(), input.end(), static_cast<float>(rank));
          members.parts[member].input = numbers(backend, member, input);
          members.parts[member].output = numbers(backend, member, std::vector<float>(counts[rank]));
        }
        joined.run({.kind = CollectiveKind::kReduceScatter,
                    .parts = members.parts,
                    .counts = is_even ? std::span<const std::size_t>() : counts});
        float element = 0;
        for (int rank = 0; rank < first; ++rank) element += static_cast<float>(counts[rank]);
        for (const CollectivePart& part : members.parts) {
          for (const float found : contents_of(part.output, *part.stream)) {
            EXPECT_EQ(found, static_cast<float>(n) * element + static_cast<float>(n * (n - 1) / 2));
            element += 1;
          }
        }
      });
      EXPECT_EQ(machine.reports(), std::vector<std::string>{});
      EXPECT_EQ(machine.alive(), std::vector<std::string>{});
    }
  }
}

// Rank r sends 100 r + s to rank s. Processes list the pairs of ranks in different orders.
TEST(ProcessLinks, ExchangeBetweenAllRanks) {
  for (const Gpus& gpus : kMachines) {
    const sim::SimulatedDriver machine({.gpus = 6});
    on_processes(gpus, [&](Backend& backend, Communicator& joined, int first) {
      const int n = joined.size();
      const Members members(backend);
      const int end = first + static_cast<int>(members.parts.size());
      std::vector<BufferView> inputs;
      std::vector<BufferView> outputs;
      for (int rank = first; rank < end; ++rank) {
        std::vector<float> own(static_cast<std::size_t>(n));
        std::iota(own.begin(), own.end(), 100.0F * static_cast<float>(rank));
        const auto member = static_cast<std::size_t>(rank - first);
        inputs.push_back(numbers(backend, member, own));
        outputs.push_back(numbers(backend, member, std::vector<float>(own.size(), -1.0F)));
      }
      const auto element = [&](const std::vector<BufferView>& views, int rank, int place) {
        if (rank < first || rank >= end) return BufferView{};
        BufferView view = views[static_cast<std::size_t>(rank - first)];
        view.offset += static_cast<std::size_t>(place) * sizeof(float);
        view.count = 1;
        return view;
      };
      std::vector<Transfer> transfers;
      for (int from = 0; from < n; ++from) {
        for (int to = 0; to < n; ++to) {
          transfers.push_back({from, to, element(inputs, from, to), element(outputs, to, from)});
        }
      }
      if (first > 0) std::ranges::reverse(transfers);
      joined.run(
          {.kind = CollectiveKind::kExchange, .parts = members.parts, .transfers = transfers});
      for (int rank = first; rank < end; ++rank) {
        const auto member = static_cast<std::size_t>(rank - first);
        const std::vector<float> found =
            contents_of(outputs[member], *members.parts[member].stream);
        for (int from = 0; from < n; ++from) {
          EXPECT_EQ(found[static_cast<std::size_t>(from)], static_cast<float>(100 * from + rank));
        }
      }
    });
    EXPECT_EQ(machine.reports(), std::vector<std::string>{});
    EXPECT_EQ(machine.alive(), std::vector<std::string>{});
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
    EXPECT_EQ(code_of([&] {
                joined.run({.kind = CollectiveKind::kBroadcast, .parts = members.parts, .root = 3});
              }),
              ErrorCode::kInvalidArgument);
    EXPECT_EQ(
        code_of([&] {
          joined.run({.kind = CollectiveKind::kBroadcast, .parts = members.parts, .root = -1});
        }),
        ErrorCode::kInvalidArgument);
    // Three ranks: outputs are three times as long as inputs.
    EXPECT_EQ(
        code_of([&] { joined.run({.kind = CollectiveKind::kAllGather, .parts = members.parts}); }),
        ErrorCode::kStructure);
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
