// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reports of accesses without an order: every rule of order, with and without the order.
#include "support_test.h"

#include <gmock/gmock.h>
#include <nccl.h>

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::driver::races_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kSeeds = 300;
constexpr std::size_t kBytes = 8;

void ok(cudaError_t code) { ASSERT_EQ(code, cudaSuccess) << cudaGetErrorString(code); }
void ok(ncclResult_t code) { ASSERT_EQ(code, ncclSuccess) << ncclGetLastError(nullptr); }

/// Two streams and memory on each of two GPUs. Stream a writes x, and stream b reads x: both are on
/// GPU 0 unless a test has another place for them.
struct Rig {
  explicit Rig(unsigned int flags = cudaStreamNonBlocking) {
    for (int gpu : {1, 0}) {
      ok(cudaSetDevice(gpu));
      for (cudaStream_t& stream : streams[static_cast<std::size_t>(gpu)]) {
        ok(cudaStreamCreateWithFlags(&stream, flags));
      }
      ok(cudaMalloc(&data[static_cast<std::size_t>(gpu)], kBytes));
      ok(cudaMemsetAsync(data[static_cast<std::size_t>(gpu)], 0, kBytes,
                         streams[static_cast<std::size_t>(gpu)][0]));
      ok(cudaMalloc(&others[static_cast<std::size_t>(gpu)], kBytes));
      ok(cudaDeviceSynchronize());
    }
    ok(cudaMalloc(&unused, kBytes));
    ok(cudaEventCreate(&event));
  }
  void write(cudaStream_t stream) { ok(cudaMemsetAsync(data[0], 1, kBytes, stream)); }
  void read(cudaStream_t stream) {
    ok(cudaMemcpyAsync(others[0], data[0], kBytes, cudaMemcpyDeviceToDevice, stream));
  }
  void record(cudaStream_t stream) { ok(cudaEventRecord(event, stream)); }
  void wait(cudaStream_t stream) { ok(cudaStreamWaitEvent(stream, event, 0)); }

  std::array<std::array<cudaStream_t, 2>, 2> streams{};
  cudaStream_t& a = streams[0][0];
  cudaStream_t& b = streams[0][1];
  std::array<void*, 2> data{};
  std::array<void*, 2> others{};
  void* unused = nullptr;  // Of GPU 0.
  cudaEvent_t event = nullptr;
};

using Program = std::function<void(Rig&, bool ordered)>;
struct Rule {
  const char* name;
  Program program;
};

std::vector<ncclComm_t> communicators() {
  std::vector<ncclComm_t> comms(2);
  ok(ncclCommInitAll(comms.data(), 2, nullptr));
  return comms;
}

/// An access of GPU 0's stream `a` before a call of rank 0, and of GPU 1's stream after the call of
/// rank 1. Both GPUs may use the memory, of a pool.
void over_ranks(Rig& rig, bool ordered, bool transfers) {
  const auto comms = communicators();
  void* shared = nullptr;
  const cudaMemPool_t pool = test::make_pool(0);
  const cudaMemAccessDesc access{{cudaMemLocationTypeDevice, 1}, cudaMemAccessFlagsProtReadWrite};
  ok(cudaMemPoolSetAccess(pool, &access, 1));
  ok(cudaMallocFromPoolAsync(&shared, kBytes, pool, rig.a));
  cudaStream_t other = rig.streams[1][0];
  ok(cudaMemsetAsync(shared, 1, kBytes, rig.a));
  ok(cudaMemsetAsync(rig.data[0], 1, kBytes, rig.a));
  ok(cudaMemsetAsync(rig.data[1], 1, kBytes, other));
  // Rank 1 goes on before the call of rank 0.
  const auto call = [&](std::size_t rank) {
    cudaStream_t stream = rig.streams[rank][0];
    if (!transfers) {
      return ok(ncclAllReduce(rig.data[rank], rig.data[rank], 2, ncclInt32, ncclSum, comms[rank],
                              stream));
    }
    if (rank == 0) return ok(ncclSend(rig.data[0], 2, ncclInt32, 1, comms[0], stream));
    ok(ncclRecv(rig.data[1], 2, ncclInt32, 0, comms[1], stream));
  };
  if (ordered) call(1);
  ok(cudaMemcpyPeerAsync(rig.others[1], 1, shared, 0, kBytes, other));
  if (!ordered) call(1);
  call(0);
  for (int gpu : {0, 1}) {
    ok(cudaSetDevice(gpu));
    ok(cudaDeviceSynchronize());
  }
}

std::vector<Rule> rules() {
  const auto around = [](std::function<void(Rig&)> order) {
    return [order = std::move(order)](Rig& rig, bool ordered) {
      rig.write(rig.a);
      rig.record(rig.a);
      if (ordered) order(rig);
      rig.read(rig.b);
      ok(cudaDeviceSynchronize());
    };
  };
  return {
      {"a wait for a record", around([](Rig& rig) { rig.wait(rig.b); })},
      {"the host's wait for an event",
       around([](Rig& rig) { ok(cudaEventSynchronize(rig.event)); })},
      {"a query of an event", around([](Rig& rig) {
         while (cudaEventQuery(rig.event) == cudaErrorNotReady) {
         }
       })},
      {"the host's wait for a stream", around([](Rig& rig) { ok(cudaStreamSynchronize(rig.a)); })},
      {"a query of a stream", around([](Rig& rig) {
         while (cudaStreamQuery(rig.a) == cudaErrorNotReady) {
         }
       })},
      {"the host's wait for a GPU", around([](Rig&) { ok(cudaDeviceSynchronize()); })},
      {"a GPU's wait after the end of the stream", around([](Rig& rig) {
         ok(cudaStreamDestroy(rig.a));
         ok(cudaDeviceSynchronize());
       })},
      {"a copy to the host", around([](Rig& rig) {
         int found[2];
         ok(cudaMemcpyAsync(found, rig.data[0], kBytes, cudaMemcpyDeviceToHost, rig.a));
       })},
      {"a free of memory of the GPU",
       around([](Rig& rig) { ok(cudaFree(std::exchange(rig.unused, nullptr))); })},
      {"two records in a row", around([](Rig& rig) {
         cudaStream_t between = test::make_stream();
         rig.wait(between);
         rig.record(between);
         rig.wait(rig.b);
       })},
      {"a collective", [](Rig& rig, bool ordered) { over_ranks(rig, ordered, false); }},
      {"a transfer", [](Rig& rig, bool ordered) { over_ranks(rig, ordered, true); }},
  };
}

TEST(Races, OfEveryOrderAreReportedWithoutTheOrderAlone) {
  for (const Rule& rule : rules()) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      SCOPED_TRACE(rule.name);
      {
        const sim::SimulatedDriver machine({.gpus = 2, .seed = seed});
        Rig rig;
        rule.program(rig, true);
        EXPECT_THAT(machine.reports(), IsEmpty());
      }
      const sim::SimulatedDriver machine({.gpus = 2, .seed = seed});
      Rig rig;
      rule.program(rig, false);
      EXPECT_THAT(machine.reports(), ::testing::Contains(HasSubstr("race for ")));
    }
  }
}

TEST(Races, OfAMissingEventAreReportedForEverySeed) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const sim::SimulatedDriver machine({.gpus = 2, .seed = seed});
    Rig rig;
    for (int step : {0, 1}) {
      static_cast<void>(step);
      rig.write(rig.a);
      rig.read(rig.b);
    }
    // The second step writes what the first step reads.
    ASSERT_THAT(machine.reports(), SizeIs(2)) << "seed " << seed;
    EXPECT_EQ(machine.reports()[0],
              "race for buffer 0 of device 0 (8 bytes):\n"
              "  thread 1: cudaMemsetAsync in S2 (GPU 0, priority 0) writes bytes 0 to 8\n"
              "  thread 1: cudaMemcpyAsync in S3 (GPU 0, priority 0) reads bytes 0 to 8\n"
              "  S3 does not wait for S2: record an event in S2 after the first call, and let S3 "
              "wait for the event before the second");
  }
}

// Whether a single query finds the end of the work depends on the seed.
TEST(Races, AreNotHiddenByAQuery) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const sim::SimulatedDriver machine({.gpus = 2, .seed = seed});
    Rig rig;
    rig.write(rig.a);
    rig.record(rig.a);
    EXPECT_EQ(cudaEventQuery(rig.event), cudaErrorNotReady);
    rig.read(rig.b);
    EXPECT_THAT(machine.reports(), SizeIs(1)) << "seed " << seed;
    // The host knows of the end of the work: no answer but success is right.
    rig.record(rig.a);
    ok(cudaStreamSynchronize(rig.a));
    EXPECT_EQ(cudaEventQuery(rig.event), cudaSuccess);
  }
}

// After the failure the engine is past all work.
TEST(Races, EndWithAWaitThatFails) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Rig rig;
  ok(cudaMemcpyAsync(rig.data[0], rig.others[0], kBytes, cudaMemcpyDeviceToDevice, rig.a));
  EXPECT_EQ(cudaStreamSynchronize(rig.a), cudaErrorIllegalAddress) << "nobody has written";
  rig.write(rig.b);
  EXPECT_THAT(machine.reports(), ElementsAre(HasSubstr("nobody has written")));
}

TEST(Races, AreOfCommonBytes) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Rig rig;
  auto* const bytes = static_cast<char*>(rig.data[0]);
  ok(cudaMemsetAsync(bytes, 0, 4, rig.a));
  ok(cudaMemsetAsync(bytes + 4, 0, 4, rig.b));
  EXPECT_THAT(machine.reports(), IsEmpty());
  ok(cudaMemsetAsync(bytes + 3, 0, 1, rig.b));
  EXPECT_THAT(machine.reports(), ElementsAre(HasSubstr("writes bytes 3 to 4")));
}

TEST(Races, OfDefaultStreamsFollowTheirRule) {
  for (const bool blocking : {true, false}) {
    for (const bool default_first : {true, false}) {
      const sim::SimulatedDriver machine({.gpus = 2});
      Rig rig(blocking ? cudaStreamDefault : cudaStreamNonBlocking);
      rig.write(default_first ? nullptr : rig.a);
      rig.read(default_first ? rig.a : nullptr);
      EXPECT_THAT(machine.reports(), SizeIs(blocking ? 0 : 1));
    }
  }
}

// A wait is for the latest record at the call.
TEST(Races, KnowWhichRecordAWaitIsFor) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Rig rig;
  rig.record(rig.a);
  rig.wait(rig.b);
  rig.write(rig.a);
  rig.record(rig.a);
  rig.read(rig.b);
  EXPECT_THAT(machine.reports(), SizeIs(1));
}

TEST(Races, OfTheHostsPinnedMemoryAreKnownFromCopies) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Rig rig;
  void* pinned = nullptr;
  ok(cudaMallocHost(&pinned, kBytes));
  ok(cudaMemcpyAsync(rig.data[0], pinned, kBytes, cudaMemcpyHostToDevice, rig.a));
  // No wait on a GPU: the memory of the host is pinned.
  ok(cudaMemcpyAsync(pinned, rig.data[0], kBytes, cudaMemcpyDeviceToHost, rig.a));
  ok(cudaMemcpyAsync(rig.others[0], pinned, kBytes, cudaMemcpyHostToDevice, rig.b));
  EXPECT_THAT(machine.reports(),
              ElementsAre(AllOf(HasSubstr("race for buffer 0 of the host (8 bytes)"),
                                HasSubstr("S2 (GPU 0, priority 0) writes"),
                                HasSubstr("S3 (GPU 0, priority 0) reads"))));
  ok(cudaFreeHost(pinned));
}

TEST(Races, OfAFreeOfPinnedMemory) {
  for (const bool waits : {true, false}) {
    const sim::SimulatedDriver machine({.gpus = 2});
    Rig rig;
    void* pinned = nullptr;
    ok(cudaMallocHost(&pinned, kBytes));
    ok(cudaMemcpyAsync(rig.data[0], pinned, kBytes, cudaMemcpyHostToDevice, rig.a));
    if (waits) ok(cudaStreamSynchronize(rig.a));
    ok(cudaFreeHost(pinned));
    EXPECT_THAT(machine.reports(), SizeIs(waits ? 0 : 1));
  }
}

/// Stream a reads memory of the host, which a copy of stream b overwrites.
std::vector<std::string> reports_of_pageable(std::uint64_t seed, bool waits, std::size_t offset) {
  const sim::SimulatedDriver machine({.gpus = 2, .seed = seed, .pageable_read_late = true});
  Rig rig;
  std::array<char, 2 * kBytes> host{};
  ok(cudaMemcpyAsync(rig.others[0], host.data(), kBytes, cudaMemcpyHostToDevice, rig.a));
  rig.record(rig.a);
  if (waits) rig.wait(rig.b);
  ok(cudaMemcpyAsync(host.data() + offset, rig.data[0], kBytes, cudaMemcpyDeviceToHost, rig.b));
  ok(cudaDeviceSynchronize());
  return machine.reports();
}

TEST(Races, OfPageableMemoryAreReportedForEverySeed) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    EXPECT_THAT(reports_of_pageable(seed, true, 0), IsEmpty());
    EXPECT_THAT(reports_of_pageable(seed, false, kBytes), IsEmpty()) << "other bytes";
    EXPECT_THAT(
        reports_of_pageable(seed, false, 4),
        ElementsAre(
            "race for pageable memory of the host:\n"
            "  thread 1: cudaMemcpyAsync in S2 (GPU 0, priority 0) reads bytes 0 to 8\n"
            "  thread 1: cudaMemcpyAsync in S3 (GPU 0, priority 0) writes bytes 4 to 12\n"
            "  S3 does not wait for S2: record an event in S2 after the first call, and let "
            "S3 wait for the event before the second"));
  }
}

// Whether the copy is late depends on the seed.
TEST(Races, OfChangesByTheProgramAreSeenWhereTheCopyIsLate) {
  std::size_t seen = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const bool waits : {true, false}) {
      const sim::SimulatedDriver machine({.gpus = 2, .seed = seed, .pageable_read_late = true});
      Rig rig;
      std::array<char, kBytes> host{};
      ok(cudaMemcpyAsync(rig.data[0], host.data(), kBytes, cudaMemcpyHostToDevice, rig.a));
      if (waits) ok(cudaStreamSynchronize(rig.a));
      host.fill(1);
      ok(cudaDeviceSynchronize());
      if (waits) {
        EXPECT_THAT(machine.reports(), IsEmpty());
      } else if (!machine.reports().empty()) {
        ++seen;
        EXPECT_THAT(machine.reports(),
                    ElementsAre("race for pageable memory of the host: thread 1: cudaMemcpyAsync "
                                "reads bytes that the program changed after the call: wait for "
                                "the copy before the change"));
      }
    }
  }
  EXPECT_GT(seen, 0U);
}

/// Memory of stream a. Stream b reads the memory before the free on stream a.
void free_after_read(Rig& rig, bool waits_for_memory, bool waits_for_read) {
  void* memory = nullptr;
  ok(cudaMallocAsync(&memory, kBytes, rig.a));
  ok(cudaMemsetAsync(memory, 0, kBytes, rig.a));
  rig.record(rig.a);
  if (waits_for_memory) rig.wait(rig.b);
  ok(cudaMemcpyAsync(rig.data[0], memory, kBytes, cudaMemcpyDeviceToDevice, rig.b));
  rig.record(rig.b);
  if (waits_for_read) rig.wait(rig.a);
  ok(cudaFreeAsync(memory, rig.a));
}

TEST(Races, OfAFreeAndAReadAreReportedForEverySeed) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto reports = [seed](bool waits_for_memory, bool waits_for_read) {
      const sim::SimulatedDriver machine({.gpus = 2, .seed = seed});
      Rig rig;
      free_after_read(rig, waits_for_memory, waits_for_read);
      return machine.reports();
    };
    EXPECT_THAT(reports(true, true), IsEmpty());
    EXPECT_THAT(
        reports(true, false),
        ElementsAre(AllOf(HasSubstr("cudaMemcpyAsync in S3"), HasSubstr("cudaFreeAsync in S2"),
                          HasSubstr("S2 does not wait for S3: record an event in S3"))));
    // The write takes the place of the allocation, and the free comes after the read.
    EXPECT_THAT(reports(false, true), ElementsAre(AllOf(HasSubstr("cudaMemsetAsync in S2"),
                                                        HasSubstr("cudaMemcpyAsync in S3"))));
  }
}

// Memory belongs to the stream of its allocation until another stream waits.
TEST(Races, OfAnAllocationAndAWrite) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Rig rig;
  void* memory = nullptr;
  ok(cudaMallocAsync(&memory, kBytes, rig.a));
  ok(cudaMemsetAsync(memory, 0, kBytes, rig.b));
  EXPECT_THAT(machine.reports(), ElementsAre(AllOf(HasSubstr("cudaMallocAsync in S2"),
                                                   HasSubstr("cudaMemsetAsync in S3"))));
}

// cudaFree waits for the GPU of the memory, and for no other.
TEST(Races, OfAFreeByTheHost) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Rig rig;
  rig.write(rig.a);
  ok(cudaDeviceSynchronize());
  ok(cudaMemcpyPeerAsync(rig.data[1], 1, rig.data[0], 0, kBytes, rig.streams[1][0]));
  ok(cudaFree(rig.data[0]));
  EXPECT_THAT(
      machine.reports(),
      ElementsAre(AllOf(HasSubstr("thread 1: cudaFree writes bytes 0 to 8"),
                        HasSubstr("the host does not wait for S0 before the second call"))));
}

// The transfers of a group run at once.
TEST(Races, OfTwoReceivesInAGroup) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Rig rig;
  const auto comms = communicators();
  ok(cudaMemsetAsync(rig.data[1], 1, kBytes, rig.streams[1][0]));
  ok(ncclGroupStart());
  for (int call : {0, 1}) {
    static_cast<void>(call);
    ok(ncclSend(rig.data[1], 2, ncclInt32, 0, comms[1], rig.streams[1][0]));
    ok(ncclRecv(rig.data[0], 2, ncclInt32, 1, comms[0], rig.a));
  }
  ok(ncclGroupEnd());
  EXPECT_THAT(machine.reports(), ElementsAre(HasSubstr("ncclRecv in S2")));
}

/// A step of data-parallel training: gradients are computed on compute streams, summed on
/// communication streams, and used on the compute streams. `left_out`: a wait of rank 1, or none.
std::vector<std::string> reports_of_step(std::uint64_t seed, int left_out) {
  const sim::SimulatedDriver machine({.gpus = 2, .seed = seed});
  Rig rig;
  const auto comms = communicators();
  std::array<std::array<cudaEvent_t, 2>, 2> events{
      {{test::make_event(0), test::make_event(0)}, {test::make_event(1), test::make_event(1)}}};
  for (int step : {0, 1}) {
    static_cast<void>(step);
    for (std::size_t rank : {0, 1}) {
      const auto [compute, communication] = rig.streams[rank];
      ok(cudaMemsetAsync(rig.data[rank], 1, kBytes, compute));
      ok(cudaEventRecord(events[rank][0], compute));
      const bool waits = rank == 0 || left_out != 0;
      if (waits) ok(cudaStreamWaitEvent(communication, events[rank][0], 0));
    }
    ok(ncclGroupStart());
    for (std::size_t rank : {0, 1}) {
      ok(ncclAllReduce(rig.data[rank], rig.data[rank], 2, ncclInt32, ncclSum, comms[rank],
                       rig.streams[rank][1]));
    }
    ok(ncclGroupEnd());
    for (std::size_t rank : {0, 1}) {
      const auto [compute, communication] = rig.streams[rank];
      ok(cudaEventRecord(events[rank][1], communication));
      const bool waits = rank == 0 || left_out != 1;
      if (waits) ok(cudaStreamWaitEvent(compute, events[rank][1], 0));
      ok(cudaMemcpyAsync(rig.others[rank], rig.data[rank], kBytes, cudaMemcpyDeviceToDevice,
                         compute));
    }
  }
  return machine.reports();
}

TEST(Races, OfAStepOfTrainingNameBothCalls) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    EXPECT_THAT(reports_of_step(seed, -1), IsEmpty());
    const auto before = reports_of_step(seed, 0);
    ASSERT_FALSE(before.empty()) << "seed " << seed;
    EXPECT_THAT(before[0],
                AllOf(HasSubstr("cudaMemsetAsync in S0"), HasSubstr("ncclAllReduce in S1"),
                      HasSubstr("S1 does not wait for S0")));
    const auto after = reports_of_step(seed, 1);
    ASSERT_FALSE(after.empty()) << "seed " << seed;
    EXPECT_THAT(after[0],
                AllOf(HasSubstr("ncclAllReduce in S1"), HasSubstr("cudaMemcpyAsync in S0"),
                      HasSubstr("S0 does not wait for S1")));
  }
}

}  // namespace
}  // namespace belfry::driver::races_test
