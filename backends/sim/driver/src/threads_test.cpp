// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Programs with a host thread for each rank.
#include "random_chooser.h"
#include "support_test.h"

#include <nccl.h>

#include <array>
#include <functional>
#include <future>
#include <thread>

namespace belfry::driver::threads_test {
namespace {

using test::allocate;
using test::last_report;
using test::make_event;
using test::make_pool;
using test::make_stream;
using test::read;
using test::write;

constexpr std::size_t kCount = 3;

ncclUniqueId make_id() {
  ncclUniqueId id{};
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  return id;
}

/// A step of a program. All ranks take the same steps.
struct Step {
  enum class Kind {
    kAllReduce,   ///< Adds up the first buffers.
    kBroadcast,   ///< The first buffer of `root` to the second buffers.
    kReduce,      ///< Adds up the second buffers into the first buffer of `root`.
    kCopy,        ///< The first buffer to the second.
    kWrite,       ///< Values of the rank to the first buffer.
    kHandOver,    ///< Later steps are on the other stream, ordered by an event.
    kStreamWait,  ///< The remaining kinds are waits of the host.
    kEventWait,
    kDeviceWait,
    kQueries,
    kRead,
    kKinds,
  };
  Kind kind;
  int root;
};

std::vector<Step> random_steps(std::uint64_t seed, int ranks) {
  RandomChooser chooser(seed);
  const auto below = [&](std::uint32_t count) { return chooser.choose(ChoiceKind::kWork, count); };
  std::vector<Step> steps;
  for (int i = 0; i < 25; ++i) {
    steps.push_back({static_cast<Step::Kind>(below(static_cast<std::uint32_t>(Step::Kind::kKinds))),
                     static_cast<int>(below(static_cast<std::uint32_t>(ranks)))});
  }
  return steps;
}

/// A rank on a GPU of its own, with two buffers, two streams and an event.
class Rank {
 public:
  explicit Rank(int rank) : rank_(rank), pool_(make_pool(rank)) {
    for (cudaStream_t& stream : streams_) stream = make_stream(rank);
    event_ = make_event(rank);
    for (int*& buffer : buffers_) {
      buffer = allocate(pool_, streams_[0], kCount);
      EXPECT_EQ(write(buffer, values(0), streams_[0]), cudaSuccess);
    }
  }

  void init(int ranks, const ncclUniqueId& id) {
    EXPECT_EQ(cudaSetDevice(rank_), cudaSuccess);
    EXPECT_EQ(ncclCommInitRank(&comm, ranks, id, rank_), ncclSuccess);
  }
  void take(const Step& step, int number) {
    EXPECT_EQ(cudaSetDevice(rank_), cudaSuccess);
    int* const first = buffers_[0];
    int* const second = buffers_[1];
    cudaStream_t stream = streams_[0];
    switch (step.kind) {
      case Step::Kind::kAllReduce:
        return expect(ncclAllReduce(first, first, kCount, ncclInt32, ncclSum, comm, stream));
      case Step::Kind::kBroadcast:
        return expect(ncclBroadcast(first, second, kCount, ncclInt32, step.root, comm, stream));
      case Step::Kind::kReduce:
        return expect(
            ncclReduce(second, first, kCount, ncclInt32, ncclSum, step.root, comm, stream));
      case Step::Kind::kCopy:
        return expect(
            cudaMemcpyAsync(second, first, kCount * sizeof(int), cudaMemcpyDeviceToDevice, stream));
      case Step::Kind::kWrite:
        return expect(write(first, values(number), stream));
      case Step::Kind::kHandOver:
        expect(cudaEventRecord(event_, stream));
        std::swap(streams_[0], streams_[1]);
        return expect(cudaStreamWaitEvent(streams_[0], event_, 0));
      default:
        return wait(step);
    }
  }
  /// The values of both buffers at each read.
  const std::vector<std::vector<int>>& seen() const { return seen_; }

  ncclComm_t comm = nullptr;

 private:
  static void expect(cudaError_t code) { EXPECT_EQ(code, cudaSuccess); }
  static void expect(ncclResult_t code) { EXPECT_EQ(code, ncclSuccess); }

  std::vector<int> values(int step) const { return {rank_ + 1, 10 * step + rank_, 7 * rank_}; }
  void wait(const Step& step) {
    switch (step.kind) {
      case Step::Kind::kStreamWait:
        return expect(cudaStreamSynchronize(streams_[0]));
      case Step::Kind::kEventWait:
        expect(cudaEventRecord(event_, streams_[0]));
        return expect(cudaEventSynchronize(event_));
      case Step::Kind::kDeviceWait:
        return expect(cudaDeviceSynchronize());
      case Step::Kind::kQueries: {
        cudaError_t code = cudaErrorNotReady;
        while (code == cudaErrorNotReady) code = cudaStreamQuery(streams_[0]);
        return expect(code);
      }
      default:
        for (const int* buffer : buffers_) {
          seen_.emplace_back(kCount);
          expect(read(seen_.back(), buffer, streams_[0]));
        }
    }
  }

  int rank_;
  cudaMemPool_t pool_;
  std::array<cudaStream_t, 2> streams_{};
  cudaEvent_t event_ = nullptr;
  std::array<int*, 2> buffers_{};
  std::vector<std::vector<int>> seen_;
};

using Seen = std::vector<std::vector<std::vector<int>>>;

/// A single thread takes each step of all ranks. The calls of a collective are a group.
Seen run_on_one_thread(const std::vector<Step>& steps, int ranks) {
  std::vector<Rank> all;
  const ncclUniqueId id = make_id();
  for (int rank = 0; rank < ranks; ++rank) all.emplace_back(rank);
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  for (Rank& rank : all) rank.init(ranks, id);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  for (int number = 0; const Step& step : steps) {
    const bool in_group = step.kind <= Step::Kind::kReduce;
    EXPECT_EQ(in_group ? ncclGroupStart() : ncclSuccess, ncclSuccess);
    for (Rank& rank : all) rank.take(step, number);
    EXPECT_EQ(in_group ? ncclGroupEnd() : ncclSuccess, ncclSuccess);
    ++number;
  }
  Seen seen;
  for (const Rank& rank : all) seen.push_back(rank.seen());
  return seen;
}

Seen run_on_threads(const std::vector<Step>& steps, int ranks) {
  const ncclUniqueId id = make_id();
  Seen seen(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int index = 0; index < ranks; ++index) {
    threads.emplace_back([&, index] {
      Rank rank(index);
      rank.init(ranks, id);
      for (int number = 0; const Step& step : steps) rank.take(step, number++);
      seen[static_cast<std::size_t>(index)] = rank.seen();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return seen;
}

TEST(ThreadsOnDriver, ComputeWhatOneThreadComputes) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const int ranks = 2 + static_cast<int>(seed % 3);
    std::vector<Step> steps = random_steps(seed, ranks);
    steps.push_back({Step::Kind::kRead, 0});
    Seen expected;
    {
      const sim::SimulatedDriver machine({.gpus = ranks});
      expected = run_on_one_thread(steps, ranks);
    }
    const sim::SimulatedDriver machine({.gpus = ranks, .seed = seed % 2 == 0 ? seed : 0});
    EXPECT_EQ(run_on_threads(steps, ranks), expected) << "seed " << seed;
    EXPECT_EQ(machine.reports(), std::vector<std::string>{}) << "seed " << seed;
  }
}

/// Tells of a wait of the host, counted from 1. The waiting thread holds the engine until it
/// sleeps.
class HostWaits final : public OperationSink {
 public:
  explicit HostWaits(int which) : left_(which) {}
  void on_operation(const Operation& operation) override {
    if (operation.kind == OperationKind::kHostWait && --left_ == 0) begun_.set_value();
  }
  void await() { begun_.get_future().wait(); }

 private:
  int left_;
  std::promise<void> begun_;
};

std::vector<int> sum_on(int rank, ncclComm_t comm) {
  cudaStream_t stream = make_stream(rank);
  int* data = allocate(make_pool(rank), stream, 1);
  std::vector<int> found{1 + rank};
  EXPECT_EQ(write(data, found, stream), cudaSuccess);
  EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, stream), ncclSuccess);
  EXPECT_EQ(read(found, data, stream), cudaSuccess);
  return found;
}

ncclComm_t init(int rank, const ncclUniqueId& id) {
  ncclComm_t comm = nullptr;
  EXPECT_EQ(cudaSetDevice(rank), cudaSuccess);
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, rank), ncclSuccess);
  return comm;
}

TEST(ThreadsOnDriver, ARankWaitsForRanksOfThreadsThatHaveNotBegun) {
  HostWaits waits(1);
  const sim::SimulatedDriver machine({.gpus = 2, .sink = &waits});
  const ncclUniqueId id = make_id();
  std::vector<int> found;
  std::thread first([&] { found = sum_on(0, init(0, id)); });
  waits.await();
  EXPECT_EQ(sum_on(1, init(1, id)), std::vector<int>{3});
  first.join();
  EXPECT_EQ(found, std::vector<int>{3});
}

// The waits of the host: two for the ranks, then the read of rank 0.
TEST(ThreadsOnDriver, AThreadOutsideTheDriverMayStillEnqueue) {
  HostWaits waits(3);
  const sim::SimulatedDriver machine({.gpus = 2, .sink = &waits});
  const ncclUniqueId id = make_id();
  std::promise<void> joined;
  std::vector<int> found;
  std::thread first([&] {
    ncclComm_t comm = init(0, id);
    joined.get_future().wait();
    found = sum_on(0, comm);
  });
  ncclComm_t comm = init(1, id);
  joined.set_value();
  waits.await();
  EXPECT_EQ(sum_on(1, comm), std::vector<int>{3});
  first.join();
  EXPECT_EQ(found, std::vector<int>{3});
}

TEST(ThreadsOnDriver, AThreadMayUseTheCommunicatorOfAThreadThatHasEnded) {
  HostWaits waits(3);
  const sim::SimulatedDriver machine({.gpus = 2, .sink = &waits});
  const ncclUniqueId id = make_id();
  ncclComm_t left = nullptr;
  std::promise<void> ended;
  std::vector<int> found;
  std::thread first([&] {
    ncclComm_t comm = init(0, id);
    ended.get_future().wait();
    found = sum_on(0, comm);
  });
  std::thread([&] { left = init(1, id); }).join();
  ended.set_value();
  waits.await();
  std::thread([&] { EXPECT_EQ(sum_on(1, left), std::vector<int>{3}); }).join();
  first.join();
  EXPECT_EQ(found, std::vector<int>{3});
}

// A single thread makes all communicators, and is the thread of rank 0.
TEST(ThreadsOnDriver, AThreadMayTakeARankThatTheMainThreadHasMade) {
  HostWaits waits(1);
  const sim::SimulatedDriver machine({.gpus = 2, .sink = &waits});
  ncclComm_t comms[2] = {};
  ASSERT_EQ(ncclCommInitAll(comms, 2, nullptr), ncclSuccess);
  int rank = -1;
  EXPECT_EQ(ncclCommUserRank(comms[1], &rank), ncclSuccess) << "a question is no use";
  EXPECT_EQ(rank, 1);
  std::vector<int> found;
  std::thread second([&] {
    waits.await();
    found = sum_on(1, comms[1]);
  });
  EXPECT_EQ(sum_on(0, comms[0]), std::vector<int>{3});
  second.join();
  EXPECT_EQ(found, std::vector<int>{3});
}

/// The result of a wait for an all-reduce on `comm`.
cudaError_t wait_for_sum(int rank, ncclComm_t comm) {
  cudaStream_t stream = make_stream(rank);
  int* data = allocate(make_pool(rank), stream, 1);
  EXPECT_EQ(write(data, {1}, stream), cudaSuccess);
  EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, stream), ncclSuccess);
  return cudaStreamSynchronize(stream);
}

/// Waits for a sum on a thread for each rank: rank 0 with its first communicator, rank 1 with its
/// second. `comms_of` gives the two communicators of a rank, on the thread of the rank.
void expect_all_learn(const sim::SimulatedDriver& machine,
                      const std::function<std::array<ncclComm_t, 2>(int rank)>& comms_of) {
  std::vector<cudaError_t> codes(2);
  const auto run = [&](std::size_t rank) {
    const int number = static_cast<int>(rank);
    codes[rank] = wait_for_sum(number, comms_of(number)[rank]);
  };
  std::thread first(run, 0);
  std::thread second(run, 1);
  first.join();
  second.join();
  EXPECT_EQ(codes, std::vector(2, cudaErrorLaunchFailure));
  EXPECT_NE(last_report(machine).find("1 of 2 members have arrived"), std::string::npos)
      << last_report(machine);
}

TEST(ThreadsOnDriver, RanksThatWaitForEachOtherAllLearnOfIt) {
  const sim::SimulatedDriver machine({.gpus = 2});
  const ncclUniqueId ids[] = {make_id(), make_id()};
  expect_all_learn(machine,
                   [&](int rank) { return std::array{init(rank, ids[0]), init(rank, ids[1])}; });
}

// The main thread makes the communicators, gives them to threads, and joins.
TEST(ThreadsOnDriver, AThreadWithoutARankMayJoinTheOthers) {
  const sim::SimulatedDriver machine({.gpus = 2});
  ncclComm_t comms[2][2] = {};
  for (auto& pair : comms) ASSERT_EQ(ncclCommInitAll(pair, 2, nullptr), ncclSuccess);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(make_stream(0)), cudaSuccess);
  expect_all_learn(machine, [&](int rank) {
    // The first use of each communicator: now the main thread has none.
    ncclResult_t state = ncclInternalError;
    for (auto& pair : comms) {
      EXPECT_EQ(ncclCommGetAsyncError(pair[rank], &state), ncclSuccess);
      EXPECT_EQ(state, ncclSuccess);
    }
    return std::array{comms[0][rank], comms[1][rank]};
  });
}

// The thread of rank 1 ends with a communicator that has failed, whose calls are no more to come.
TEST(ThreadsOnDriver, AMismatchEndsTheWaitsOfTheOtherRanks) {
  const sim::SimulatedDriver machine({.gpus = 2});
  const ncclUniqueId id = make_id();
  std::promise<void> called;
  std::thread first([&] {
    const ncclComm_t comm = init(0, id);
    cudaStream_t streams[] = {make_stream(0), make_stream(0)};
    for (cudaStream_t stream : streams) {
      int* data = allocate(make_pool(0), stream, 1);
      EXPECT_EQ(write(data, {1}, stream), cudaSuccess);
      EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, stream), ncclSuccess);
    }
    called.set_value();
    EXPECT_EQ(cudaStreamSynchronize(streams[1]), cudaErrorLaunchFailure);
    ncclResult_t state = ncclSuccess;
    EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    EXPECT_EQ(state, ncclInvalidUsage);
    EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  });
  std::thread second([&] {
    const ncclComm_t comm = init(1, id);
    called.get_future().wait();
    EXPECT_EQ(ncclBroadcast(nullptr, nullptr, 0, ncclInt32, 1, comm, make_stream(1)),
              ncclInvalidUsage);
  });
  first.join();
  second.join();
}

// The same after a call with a wrong argument, without which no rank's call can differ.
TEST(ThreadsOnDriver, NoRankWaitsForARankWhoseCallWasRefused) {
  const sim::SimulatedDriver machine({.gpus = 2});
  const ncclUniqueId id = make_id();
  std::thread second([&] {
    const ncclComm_t comm = init(1, id);
    EXPECT_EQ(ncclBroadcast(nullptr, nullptr, 0, ncclInt32, 7, comm, make_stream(1)),
              ncclInvalidArgument);
  });
  std::thread first([&] { EXPECT_EQ(wait_for_sum(0, init(0, id)), cudaErrorLaunchFailure); });
  first.join();
  second.join();
}

TEST(ThreadsOnDriver, ARankLearnsThatTheLastOtherThreadHasEnded) {
  const sim::SimulatedDriver machine({.gpus = 2});
  const ncclUniqueId id = make_id();
  std::thread second([&] { EXPECT_EQ(ncclCommDestroy(init(1, id)), ncclSuccess); });
  std::thread first([&] { EXPECT_EQ(wait_for_sum(0, init(0, id)), cudaErrorLaunchFailure); });
  second.join();
  first.join();
}

TEST(ThreadsOnDriver, WaitsForADeviceWaitForCollectives) {
  const sim::SimulatedDriver machine({.gpus = 2, .host_threads = 1});
  ncclComm_t comms[2] = {};
  ASSERT_EQ(ncclCommInitAll(comms, 2, nullptr), ncclSuccess);
  cudaStream_t stream = make_stream(0);
  int* data = allocate(make_pool(0), stream, 1);
  ASSERT_EQ(write(data, {1}, stream), cudaSuccess);
  ASSERT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comms[0], stream), ncclSuccess);
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "this GPU has no work";
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure) << "rank 1 is missing";
}

TEST(ThreadsOnDriver, TheNumberOfThreadsMayBeGiven) {
  const sim::SimulatedDriver machine({.gpus = 2, .host_threads = 1});
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 2, make_id(), 0), ncclInvalidUsage);
  EXPECT_EQ(comm, nullptr);
  EXPECT_EQ(last_report(machine), "ncclCommInitRank: rank 0 waits for ranks that no thread makes");
}

}  // namespace
}  // namespace belfry::driver::threads_test
