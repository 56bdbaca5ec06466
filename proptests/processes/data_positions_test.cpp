// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Positions in data over several processes, hosts of simulated clusters here.
#include "belfry/belfry.h"
#include "belfry/checkpoint.h"
#include "belfry/sim/cluster.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "suites/text_of_error.h"
#include "words/temporary_folder_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing::data_positions_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Rows = std::vector<int>;

// The rows of a loop over all processes: in order of steps, and of replicas.
class Collected {
 public:
  void add(int step, const PerReplica<Rows>& shares, int replicas) {
    for (int replica = 0; replica < replicas; ++replica) {
      if (shares.has(replica)) rows_[{step, replica}] = shares[replica];
    }
  }
  Rows rows() const {
    Rows all;
    for (const auto& [place, share] : rows_) all.insert(all.end(), share.begin(), share.end());
    return all;
  }

 private:
  std::map<std::pair<int, int>, Rows> rows_;
};

// A loop up to the step number `most`, in every process. Returns whether the data ended before.
bool loop(Strategy& strategy, const DistributedDataset<Rows>& data, int most, Collected& found) {
  int steps = 0;
  for (const PerReplica<Rows>& step : data) {
    found.add(steps, step, strategy.num_replicas());
    if (++steps == most) return false;
  }
  return true;
}

// Rows of full steps alone, if partial steps are dropped.
Rows in_steps(Rows rows, int batch, EndOfData policy) {
  if (policy == EndOfData::kDropPartialStep) {
    rows.resize(rows.size() - rows.size() % static_cast<std::size_t>(batch));
  }
  return rows;
}

std::vector<int> drawn_devices() {
  std::vector<int> devices(*rc::gen::inRange<std::size_t>(1, 4));
  for (int& count : devices) count = *rc::gen::inRange(0, 3);
  devices[*rc::gen::inRange<std::size_t>(0, devices.size())] = 2;  // Some host has a device.
  return devices;
}

RC_GTEST_PROP(ProcessDataPositions, GoOnInOtherNumbersOfProcesses, ()) {
  testing::asserts("SEM-255");
  testing::asserts("SEM-256");
  const int count = *rc::gen::inRange(0, 40);
  const auto source = Dataset<int>::range(count).shuffle(3).repeat(2);
  const auto policy = *rc::gen::element(EndOfData::kDropPartialStep, EndOfData::kPadWithEmpties,
                                        EndOfData::kMaskReplicas);
  Rows all;
  for (const int row : source) all.push_back(row);
  std::size_t taken = 0;
  std::optional<TensorFile> file;
  for (const bool is_last : {false, false, true}) {
    const std::vector<int> devices = drawn_devices();
    const int replicas = std::accumulate(devices.begin(), devices.end(), 0);
    const int batch = replicas + *rc::gen::inRange(0, 4);
    const int most = is_last ? 1000 : *rc::gen::inRange(1, 6);
    const int prefetch = *rc::gen::inRange(0, 3);
    Collected found;
    Collected anew;
    std::vector<TensorFile> saved(devices.size());
    bool ended = false;
    sim::Cluster cluster{{.devices_of = devices, .seed = 5}};
    cluster.run([&](sim::Host& host) {
      MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
      // Processes may read ahead by different numbers of steps.
      const auto data = strategy.distribute_dataset(
          source.batch(batch), {.end_of_data = policy, .prefetch = prefetch + host.group().rank()});
      Checkpoint checkpoint(strategy);
      checkpoint.add("data", data);
      if (file) checkpoint.restore(*file);
      ended = loop(strategy, data, most, found);
      saved[static_cast<std::size_t>(host.group().rank())] = checkpoint.contents();
      if (is_last) loop(strategy, data, most, anew);
    });
    for (const TensorFile& own : saved) RC_ASSERT(own == saved.front());
    const Rows rest =
        in_steps(Rows(all.begin() + static_cast<std::ptrdiff_t>(taken), all.end()), batch, policy);
    const Rows rows = found.rows();
    if (ended) RC_ASSERT(rows == rest);
    RC_ASSERT(rows.size() <= rest.size());
    RC_ASSERT(std::equal(rows.begin(), rows.end(), rest.begin()));
    if (is_last) RC_ASSERT(anew.rows() == in_steps(all, batch, policy));
    taken = ended ? 0 : taken + rows.size();
    file = saved.front();
  }
}

// With the parts of each batch, a process without devices reads nothing.
TEST(ProcessDataPositions, AreKnownToAProcessThatReadsNothing) {
  testing::asserts("SEM-255");
  const TemporaryFolder folder;
  const auto path = folder / "position.belfry";
  const auto dataset = Dataset<int>::range(12).batch(4);
  sim::Cluster saving{{.devices_of = {0, 1, 1}, .seed = 3}};
  saving.run([&](sim::Host& host) {
    const int rank = host.group().rank();
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
    const auto data = strategy.distribute_dataset(dataset, {.end_of_data = EndOfData::kMaskReplicas,
                                                            .num_workers = 2,
                                                            .worker = std::max(0, rank - 1),
                                                            .split = BatchSplit::kEachBatch});
    Checkpoint checkpoint(strategy);
    checkpoint.add("data", data);
    Collected found;
    loop(strategy, data, 2, found);
    checkpoint.save(path);  // In process 0.
  });
  sim::Backend backend{{.devices = 3}};
  MirroredStrategy alone{backend};
  const auto data = alone.distribute_dataset(dataset, {.end_of_data = EndOfData::kMaskReplicas});
  Checkpoint(alone).add("data", data).restore(path);
  Collected found;
  loop(alone, data, 1000, found);
  EXPECT_THAT(found.rows(), ElementsAre(8, 9, 10, 11));
}

// A job with parts of its own for each process, or with the whole data.
struct PartsJob {
  enum class Input { kWhole, kParts, kFunction };

  std::vector<int> devices{};
  Input input = Input::kWhole;
  int batch = 0;
  EndOfData policy = EndOfData::kMaskReplicas;
  int prefetch = 0;

  DistributedDataset<Rows> data(Strategy& strategy, const Dataset<int>& source, int rank) const {
    DistributeOptions options{.end_of_data = policy, .prefetch = prefetch};
    const auto part = [&](int parts, int own, int rows) {
      return source.shard(parts, own).map([](int row) { return row; }).batch(rows);
    };
    if (input == Input::kFunction) {
      return strategy.distribute_datasets_from_function(
          [&](const InputContext& context) {
            return part(context.num_input_pipelines, context.input_pipeline_id, 1 + batch / 4);
          },
          options);
    }
    if (input == Input::kWhole) return strategy.distribute_dataset(part(1, 0, batch), options);
    options.num_workers = static_cast<int>(devices.size());
    options.worker = rank;
    return strategy.distribute_dataset(part(options.num_workers, options.worker, batch), options);
  }
};

PartsJob drawn_parts_job() {
  PartsJob job;
  job.input = *rc::gen::element(PartsJob::Input::kWhole, PartsJob::Input::kParts,
                                PartsJob::Input::kFunction);
  job.devices = drawn_devices();
  // Parts are for processes with equally many replicas.
  if (job.input == PartsJob::Input::kParts) {
    std::ranges::fill(job.devices, *rc::gen::inRange(1, 3));
  }
  const int replicas = std::accumulate(job.devices.begin(), job.devices.end(), 0);
  job.batch = replicas + *rc::gen::inRange(0, 5);
  job.policy = *rc::gen::element(EndOfData::kPadWithEmpties, EndOfData::kMaskReplicas,
                                 EndOfData::kDropPartialStep);
  job.prefetch = *rc::gen::inRange(0, 3);
  return job;
}

// Each job takes some steps, on other numbers of processes, and saves.
RC_GTEST_PROP(ProcessDataPositions, OfPartsGoOnInOtherParts, ()) {
  testing::asserts("SEM-291");
  // Enough rows for an empty batch in each part.
  const auto source =
      Dataset<int>::range(*rc::gen::inRange(6, 60)).map([](int row) { return row; }).shuffle(3);
  Rows all;
  for (const int row : source) all.push_back(row);
  Rows taken;
  std::optional<TensorFile> file;
  int jobs = *rc::gen::inRange(0, 4);
  for (bool ended = false; !ended; --jobs) {
    PartsJob job = drawn_parts_job();
    // Data without a whole step are an error, but not the rest of data.
    if ((jobs <= 0 || !file) && job.policy == EndOfData::kDropPartialStep) {
      job.policy = EndOfData::kPadWithEmpties;
    }
    const int most = jobs <= 0 ? 1000 : *rc::gen::inRange(1, 4);
    Collected found;
    std::vector<TensorFile> saved(job.devices.size());
    sim::Cluster cluster{{.devices_of = job.devices, .seed = 5}};
    cluster.run([&](sim::Host& host) {
      const int rank = host.group().rank();
      MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
      const auto data = job.data(strategy, source, rank);
      Checkpoint checkpoint(strategy);
      checkpoint.add("data", data);
      if (file) checkpoint.restore(*file);
      ended = loop(strategy, data, most, found);
      saved[static_cast<std::size_t>(rank)] = checkpoint.contents();
    });
    for (const TensorFile& own : saved) RC_ASSERT(own == saved.front());
    const Rows rows = found.rows();
    taken.insert(taken.end(), rows.begin(), rows.end());
    if (ended && job.policy == EndOfData::kDropPartialStep) {  // Without the last rows.
      std::ranges::sort(taken);
      RC_ASSERT(std::ranges::adjacent_find(taken) == taken.end());
      return;
    }
    file = saved.front();
  }
  std::ranges::sort(taken);
  std::ranges::sort(all);
  RC_ASSERT(taken == all);
}

// The error of each of two processes that save the position after a step.
template <class Input>
void expect_refused(const Input& input, const std::string& text) {
  sim::Cluster cluster{{.devices_of = {1, 1}, .seed = 3}};
  cluster.run([&](sim::Host& host) {
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
    const auto data = strategy.distribute_datasets_from_function(
        [&](const InputContext& context) {
          return input(Dataset<int>::range(8), context.input_pipeline_id);
        },
        {.end_of_data = EndOfData::kMaskReplicas});
    EXPECT_THAT(text_of_error<Error>([&] {
                  Checkpoint checkpoint(strategy);
                  checkpoint.add("data", data);
                  for ([[maybe_unused]] const auto& step : data) checkpoint.contents();
                }),
                AllOf(HasSubstr("\"data\" has no position to save"), HasSubstr(text)));
  });
}

TEST(ProcessDataPositions, OfPartsWithoutShardAreRefusedInEachProcess) {
  testing::asserts("SEM-258");
  using Source = Dataset<int>;
  const std::string hint = ".shard(processes, process) behind shuffle";
  expect_refused([](const Source& rows, int) { return rows.batch(2); }, hint);
  expect_refused([](const Source& rows, int own) { return rows.shard(2, own).shuffle(3).batch(2); },
                 hint);
  // A row is a batch of the shard.
  expect_refused([](const Source& rows, int own) { return rows.batch(2).shard(2, own); }, hint);
  expect_refused([](const Source& rows, int own) { return rows.shard(2, 1 - own).batch(2); }, hint);
}

TEST(ProcessDataPositions, OfPartsWithoutRowsOrOfDifferentDataAreRefused) {
  testing::asserts("SEM-291");
  expect_refused(
      [](const Dataset<int>& rows, int own) {
        return rows.shard(2, own).batch(2).map([](const Rows& batch) { return batch.front(); });
      },
      "elements without rows were handed out");
  expect_refused(
      [](const Dataset<int>& rows, int own) { return rows.take(8 - own).shard(2, own).batch(2); },
      "range(8).take(8).shard(2, 0).batch(2) and range(8).take(7).shard(2, 1).batch(2)");
}

// A listening process would keep the old position.
TEST(ProcessDataPositions, AreNotRestoredInARunInWhichAProcessListens) {
  testing::asserts("SEM-257");
  sim::Cluster cluster{{.devices_of = {1, 1}, .seed = 3}};
  cluster.run([&](sim::Host& host) {
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
    const auto data = strategy.distribute_dataset(Dataset<int>::range(4).batch(2),
                                                  {.end_of_data = EndOfData::kMaskReplicas});
    Checkpoint checkpoint(strategy);
    checkpoint.add("data", data);
    const TensorFile file = checkpoint.contents();
    std::vector<std::optional<int>> first(2);
    first[0] = 1;
    EXPECT_THROW(strategy.run(
                     [&](ReplicaContext& replica, int) {
                       replica.merge_call([&](CrossReplicaContext&) { checkpoint.restore(file); });
                     },
                     PerReplica<int>::from(first)),
                 Error);
  });
}

}  // namespace
}  // namespace belfry::testing::data_positions_test
