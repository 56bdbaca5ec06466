// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Hosts that stop, and groups that throw, at every call: all processes end, and no process has a
// result or a file alone.
#include "belfry/belfry.h"
#include "belfry/sim/cluster.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "processes/forwarding_group.h"
#include "processes/hosts.h"
#include "processes/process_program.h"
#include "words/temporary_folder_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace belfry::testing::host_faults {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

// Counts the calls of a group. A call may throw in place of an exchange.
class MeteredGroup final : public ForwardingGroup {
 public:
  MeteredGroup(ProcessGroup& inner, int throws_at)
      : ForwardingGroup(inner), throws_at_(throws_at) {}

  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    count();
    return ForwardingGroup::gather(bytes);
  }
  std::vector<std::byte> broadcast(std::span<const std::byte> bytes, int from) override {
    count();
    return ForwardingGroup::broadcast(bytes, from);
  }
  int calls() const { return calls_; }

 private:
  void count() {
    if (++calls_ == throws_at_) throw PlannedFault("no network");
  }

  int throws_at_;
  int calls_ = 0;
};

enum class End : std::uint8_t { kNone, kReturned, kLost, kPeerFailed, kPlanned };

// The end of a run of a cluster.
struct Outcome {
  std::vector<End> ends;           // Each host has an end; kNone is a host that stopped.
  std::vector<std::string> texts;  // Each host has the text of an exception, or an empty text.
  std::vector<Trace> traces;       // Each replica has a trace.
  int calls = 0;                   // Host 0 made so many calls of the group.
};

// A program that ends with a checkpoint of a variable with the value `saved`. The group of host
// `thrower` throws at its call `throws_at`.
Outcome run_cluster(sim::Cluster& cluster, const ProcessProgram& program,
                    const std::filesystem::path& path, int thrower = -1, int throws_at = 0) {
  const std::size_t hosts = program.devices.size();
  Outcome outcome{std::vector<End>(hosts), std::vector<std::string>(hosts),
                  std::vector<Trace>(static_cast<std::size_t>(program.replicas()))};
  const auto body = [&](sim::Host& host) {
    const int rank = host.group().rank();
    const auto index = static_cast<std::size_t>(rank);
    MeteredGroup group(host.group(), rank == thrower ? throws_at : 0);
    const auto end = [&](End how, const std::exception& error) {
      outcome.ends[index] = how;
      outcome.texts[index] = error.what();
    };
    try {
      MultiWorkerMirroredStrategy strategy{host.backend(), group, {.order = program.order}};
      const auto saved = strategy.mirrored_variable(2, {.name = "saved"});
      const PerReplica<Trace> own = run_program(strategy, program, program.first_value(rank));
      Checkpoint(strategy).add(saved).save(path);
      for (int id = 0; id < own.size(); ++id) {
        if (own.has(id)) outcome.traces[static_cast<std::size_t>(id)] = own[id];
      }
      outcome.ends[index] = End::kReturned;
    } catch (const ProcessLostError& error) {
      end(End::kLost, error);
      throw;
    } catch (const PeerFailedError& error) {
      end(End::kPeerFailed, error);
      throw;
    } catch (const PlannedFault& error) {
      end(End::kPlanned, error);
      throw;
    }
    if (rank == 0) outcome.calls = group.calls();
  };
  try {
    cluster.run(body);
  } catch (const ProcessLostError&) {
  } catch (const PlannedFault&) {
  }
  return outcome;
}

// The value in the file of an earlier program, or of this program.
int value_in(const std::filesystem::path& path) {
  const TensorFile file = TensorFile::read(path);
  return static_cast<int>(file.tensors.at("saved").bytes.front());
}

void save_one(const std::filesystem::path& path) {
  TensorFile file;
  file.tensors["saved"] = {DType::kInt32, Shape{}, std::vector<std::byte>(4)};
  file.tensors["saved"].bytes.front() = std::byte{1};
  file.write(path);
}

// A random program, a saved file, and the calls of the group.
struct Case {
  Case() : program(any_program(2)) {
    sim::Cluster cluster{{.devices_of = program.devices, .seed = seed}};
    const Outcome whole = run_cluster(cluster, program, path);
    RC_ASSERT(whole.ends == std::vector<End>(program.devices.size(), End::kReturned));
    RC_ASSERT(value_in(path) == 2);
    calls = whole.calls;
    save_one(path);
    host = *rc::gen::inRange(0, static_cast<int>(program.devices.size()));
    call = *rc::gen::inRange(1, calls + 1);
  }

  // Whether a save has left a new file behind.
  bool has_new_file() const {
    const auto is_part = [](const std::string& name) { return name.find("part-") != name.npos; };
    return std::ranges::any_of(folder.names(), is_part);
  }

  ProcessProgram program;
  unsigned seed = *rc::gen::arbitrary<unsigned>();
  TemporaryFolder folder{};
  std::filesystem::path path = folder / "weights";
  int calls = 0;
  int host = 0;  // The host with the fault.
  int call = 0;  // The call of the group with the fault.
};

RC_GTEST_PROP(HostFaults, OfAStoppedHostReachAllOthers, ()) {
  testing::asserts("SEM-187", "SEM-155");
  const Case drawn;
  sim::Cluster cluster{{.devices_of = drawn.program.devices,
                        .seed = drawn.seed,
                        .faults = {{.host = drawn.host, .call = drawn.call}}}};
  const Outcome outcome = run_cluster(cluster, drawn.program, drawn.path);
  const std::string cause = "process " + std::to_string(drawn.host) + " stopped at its call " +
                            std::to_string(drawn.call);
  for (std::size_t host = 0; host < outcome.ends.size(); ++host) {
    const bool stopped = static_cast<int>(host) == drawn.host;
    RC_ASSERT(outcome.ends[host] == (stopped ? End::kNone : End::kLost));
    RC_ASSERT(stopped == (outcome.texts[host].find(cause) == std::string::npos));
  }
  // Process 0 writes between the last two calls.
  RC_ASSERT(value_in(drawn.path) == (drawn.call == drawn.calls ? 2 : 1));
  RC_ASSERT(!drawn.has_new_file());
}

RC_GTEST_PROP(HostFaults, OfACallThatThrowsReachAllOthers, ()) {
  testing::asserts("SEM-154", "SEM-155");
  const Case drawn;
  sim::Cluster cluster{{.devices_of = drawn.program.devices, .seed = drawn.seed}};
  const Outcome outcome = run_cluster(cluster, drawn.program, drawn.path, drawn.host, drawn.call);
  for (std::size_t host = 0; host < outcome.ends.size(); ++host) {
    if (static_cast<int>(host) == drawn.host) {
      RC_ASSERT(outcome.ends[host] == End::kPlanned);
    } else {
      RC_ASSERT(outcome.ends[host] == End::kLost || outcome.ends[host] == End::kPeerFailed);
      RC_ASSERT(outcome.texts[host].find("no network") != std::string::npos);
    }
  }
  RC_ASSERT(value_in(drawn.path) == (drawn.call == drawn.calls ? 2 : 1));
  RC_ASSERT(!drawn.has_new_file());
}

RC_GTEST_PROP(HostFaults, OfACutLinkReachAllHosts, ()) {
  testing::asserts("SEM-187");
  const Case drawn;
  const int other = (drawn.host + 1) % static_cast<int>(drawn.program.devices.size());
  sim::Cluster cluster{{.devices_of = drawn.program.devices,
                        .seed = drawn.seed,
                        .faults = {{.kind = sim::HostFault::Kind::kCut,
                                    .host = drawn.host,
                                    .call = drawn.call,
                                    .other = other}}}};
  const Outcome outcome = run_cluster(cluster, drawn.program, drawn.path);
  const std::string cause = "process " + std::to_string(drawn.host) + " and process " +
                            std::to_string(other) + " do not reach one another";
  for (std::size_t host = 0; host < outcome.ends.size(); ++host) {
    RC_ASSERT(outcome.ends[host] == End::kLost);
    RC_ASSERT(outcome.texts[host].find(cause) != std::string::npos);
  }
  RC_ASSERT(value_in(drawn.path) == (drawn.call == drawn.calls ? 2 : 1));
}

TEST(HostFaults, OfACheckpointThatOneProcessSavesTwiceReachAllOthers) {
  testing::asserts("SEM-152");
  const TemporaryFolder folder;
  at_each_place(3, [&](int odd) {
    const auto texts = texts_on_hosts<MergeMismatchError>([&](auto& strategy, sim::Host& host) {
      const auto saved = strategy.mirrored_variable(1, {.name = "saved"});
      Checkpoint checkpoint(strategy);
      checkpoint.add(saved);
      checkpoint.save(folder / "weights");
      if (host.group().rank() == odd) {
        checkpoint.save(folder / "weights");
      } else {
        sum_of_ones(strategy);
      }
    });
    EXPECT_THAT(texts, Each(HasSubstr("BF-012 processes make different calls")));
  });
}

TEST(HostFaults, OfAKernelReachAllOthersOutsideOfRuns) {
  testing::asserts("SEM-154");
  at_each_place(6, [](int odd) {
    const int thrower = process_of(odd);
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
      CrossReplicaContext& cross = strategy.cross_replica();
      // A row that the table of replica `odd` lacks: the work fails when the table is read.
      const auto rows = strategy.distribute_values([&](int replica) {
        auto table = Tensor<float>::zeros({2, 1});
        const auto row = Tensor<std::int64_t>::full({1}, replica == odd ? 5 : 0);
        scatter_add_rows(table, row, Tensor<float>::full({1, 1}, 1));
        return table;
      });
      try {
        cross.reduce(ReduceOp::kSum, rows);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const PeerFailedError& error) {
        EXPECT_NE(host.group().rank(), thrower);
        EXPECT_THAT(error.what(), HasSubstr("process " + std::to_string(thrower)));
      } catch (const DeviceError&) {
        EXPECT_EQ(host.group().rank(), thrower);
      }
    });
  });
}

}  // namespace
}  // namespace belfry::testing::host_faults
