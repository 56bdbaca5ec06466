// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The program of the page on several hosts, "after a loss": a training with checkpoints that a
// later job continues, with any number of processes.
//
//     mpirun -n 4 after_a_loss FILE DEADLINE_S [PROCESS STEP]
//
// FILE is the checkpoint. PROCESS is killed before its STEP, for the test of this page.
#include <belfry/belfry.h>
#include <belfry/checkpoint.h>
#include <belfry/mpi/group.h>
#include <belfry/sim/backend.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using namespace belfry;

namespace {

using Weights = std::vector<std::int64_t>;
using Batch = std::vector<std::int64_t>;

constexpr int kSteps = 40;
constexpr int kStepsBetweenSaves = 5;
constexpr int kExamplesOfAStep = 12;

// [model]
// Example i has three features; weights are in 1/256. Integers have the same sum in every order,
// so that the end is the same on any number of replicas, bit for bit.
std::int64_t feature(std::int64_t i, int j) { return (i * (2 * j + 3) + j) % 11 - 5; }
std::int64_t target(std::int64_t i) {
  return 2 * feature(i, 0) - 3 * feature(i, 1) + feature(i, 2) + i % 3;
}
std::int64_t error_of(std::int64_t i, const Weights& weights) {
  std::int64_t error = 256 * target(i);
  for (int j = 0; j < 3; ++j) error -= weights[j] * feature(i, j);
  return error;
}
// [model]

// [state]
// Everything that the next job needs: the number of finished steps is a variable like the weights.
struct State {
  explicit State(Strategy& strategy) : checkpoint(strategy) {
    weights = strategy.mirrored_variable(Weights(3), {.name = "weights"});
    step = strategy.mirrored_variable(std::int64_t{0}, {.name = "step"});
    loss = strategy.replica_local_variable(ReduceOp::kSum, std::int64_t{0}, {.name = "loss"});
    checkpoint.add(weights).add(step).add(loss);
  }

  MirroredVariable<Weights> weights;
  MirroredVariable<std::int64_t> step;
  ReplicaLocalVariable<std::int64_t> loss;
  Checkpoint checkpoint;
};
// [state]

// [step]
void train_step(ReplicaContext& replica, const State& state, const Batch& share) {
  Weights change(3);
  for (const std::int64_t i : share) {
    const std::int64_t error = error_of(i, state.weights.on(replica));
    state.loss.on(replica) += error * error;
    for (int j = 0; j < 3; ++j) change[j] += error * feature(i, j);
  }
  replica.merge_call(
      [&state](CrossReplicaContext& cross, const PerReplica<Weights>& changes) {
        cross.update(
            state.weights,
            [](Weights& weights, const Weights& sum) {
              for (int j = 0; j < 3; ++j) weights[j] += sum[j] >> 9;
            },
            cross.reduce(ReduceOp::kSum, changes));
        cross.update(state.step, [](std::int64_t& step) { ++step; });
      },
      change);
}
// [step]

// [exists]
// Process 0 looks; the file system of another process may be behind.
bool exists(ProcessGroup& group, const std::filesystem::path& file) {
  const std::byte found{std::filesystem::exists(file)};
  return group.broadcast({&found, 1}, 0).front() == std::byte{1};
}
// [exists]

std::string result_of(Strategy& strategy, const State& state) {
  std::ostringstream text;
  text << "weights";
  for (const std::int64_t weight : strategy.read(state.weights)) text << ' ' << weight;
  text << ", loss " << strategy.read(state.loss) << '\n';
  return text.str();
}

using BeforeStep = std::function<void(std::int64_t step)>;

// [train]
void train(ProcessGroup& group, const std::filesystem::path& file, const BeforeStep& before_step) {
  sim::Backend backend{{.devices = 2}};
  MultiWorkerMirroredStrategy strategy{backend, group};
  State state(strategy);
  if (exists(group, file)) state.checkpoint.restore(file);
  std::int64_t step = strategy.read(state.step);
  if (group.rank() == 0) std::cout << "after step " + std::to_string(step) + '\n' << std::flush;
  const auto batches =
      Dataset<std::int64_t>::range(kSteps * kExamplesOfAStep).batch(kExamplesOfAStep);
  const auto shares_of_steps =
      strategy.distribute_dataset(batches.skip(step), {.end_of_data = EndOfData::kDropPartialStep});
  for (const PerReplica<Batch>& shares : shares_of_steps) {
    before_step(step);
    strategy.run([&state](ReplicaContext& replica,
                          const Batch& share) { train_step(replica, state, share); },
                 shares);
    ++step;
    if (step % kStepsBetweenSaves == 0) state.checkpoint.save(file);
  }
  const std::string result = result_of(strategy, state);  // All processes read.
  if (group.rank() == 0) std::cout << result << std::flush;
}
// [train]

// The process is killed as by `kill -9`.
BeforeStep killed_at(int step) {
  return [step](std::int64_t now) {
    if (now == step) std::raise(SIGKILL);
  };
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::filesystem::path file = argv[1];
  // [main]
  mpi::Group group{argc, argv, {.deadline = Deadline::seconds(std::atoi(argv[2]))}};
  // [main]
  BeforeStep before_step = [](std::int64_t) {};
  if (argc > 4 && group.rank() == std::atoi(argv[3])) before_step = killed_at(std::atoi(argv[4]));
  // [loss]
  try {
    train(group, file, before_step);
  } catch (const ProcessLostError& error) {
    std::cerr << group.description() + ": " + error.what() + '\n' << std::flush;
    return 3;  // The script of the job starts the next one.
  }
  // [loss]
  return 0;
}
