// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/trace.h"

#include "belfry/belfry.h"
#include "belfry/checkpoint.h"
#include "belfry/detail/trace_sink.h"
#include "belfry/sim/backend.h"
#include "belfry/sim/cluster.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/code_of.h"
#include "testing/drawn_numbers.h"
#include "testing/raw_program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::sim::trace_test {
namespace {

using Json = nlohmann::json;
using Lines = std::vector<Json>;

std::string path_of(const std::string& name) {
  return ::testing::TempDir() + "belfry_trace_" + std::to_string(getpid()) + "_" + name;
}

// All lines, whose last one must be whole, too.
Lines lines_of(const std::string& path) {
  std::ifstream in(path);
  Lines lines;
  for (std::string line; std::getline(in, line);) {
    EXPECT_FALSE(in.eof()) << "the last line has no end: " << line;
    lines.push_back(Json::parse(line));
  }
  return lines;
}

Lines of_kind(const Lines& lines, const std::string& kind) {
  Lines found;
  for (const Json& line : lines) {
    if (line.contains("step") && line["kind"] == kind) found.push_back(line);
  }
  return found;
}

// The elements of value `index` in `list` of a step, from the step or from a later line.
Json elements(const Lines& lines, const Json& step, const std::string& list, int index = 0) {
  const Json& value = step[list][static_cast<std::size_t>(index)];
  if (value.contains("first")) return value["first"];
  for (const Json& line : lines) {
    if (line.contains("value_of") && line["value_of"] == step["step"] && line["list"] == list &&
        line["index"] == index) {
      return line["first"];
    }
  }
  return nullptr;
}

// Replica r brings [1, 2] * (r + 1), and gets the sum, which the host reads.
void sum(belfry::Backend& backend) {
  MirroredStrategy strategy{backend};
  const auto sums = strategy.run([](ReplicaContext& replica) {
    const auto x = Tensor<float>::from({2}, {1, 2});
    return replica.all_reduce(ReduceOp::kSum, multiply(x, 1.0F + replica.replica_id()));
  });
  for (const Tensor<float>& sum : sums) sum.to_host();
}

Lines trace_of(const std::string& name, const TraceOptions& options, const Options& sim_options,
               const std::function<void(belfry::Backend&)>& program) {
  const std::string path = path_of(name);
  {
    TraceFile trace{path, options};
    Backend backend{sim_options, Attachments{.trace = &trace}};
    program(backend);
    trace.close();
  }
  return lines_of(path);
}

// By hand: replica 0 brings [1, 2], replica 1 [2, 4]; the sum is [3, 6].
TEST(Trace, HasTheValuesOfAMerge) {
  const Options options{.devices = 2, .seed = 5};
  const Lines lines = trace_of("sum", {.program = "sum"}, options, sum);
  EXPECT_EQ(lines.front()["belfry_trace"], 1);
  EXPECT_EQ(lines.front()["options"], to_string(options));
  EXPECT_EQ(lines.front()["program"], "sum");
  std::map<std::string, Json> brought;
  for (const Json& step : of_kind(lines, "arrive")) {
    EXPECT_EQ(step["op"], "sum");
    EXPECT_EQ(step["brings"][0]["type"], "float32");
    EXPECT_EQ(step["brings"][0]["shape"], Json::array({2}));
    brought[step["agent"]] = elements(lines, step, "brings");
  }
  EXPECT_EQ(brought, (std::map<std::string, Json>{{"R0", {1, 2}}, {"R1", {2, 4}}}));
  int got = 0;
  for (const Json& step : of_kind(lines, "resume")) {
    EXPECT_EQ(elements(lines, step, "gets"), Json::array({3, 6})) << step;
    ++got;
  }
  EXPECT_EQ(got, 2);
}

// By hand, on both replicas: 1 + 2, the mean of 0 and 2, each entry of a map, and both parts of a
// batch.
TEST(Trace, HasWhatReplicasGet) {
  const Lines lines = trace_of("gets", {}, {.devices = 2}, [](belfry::Backend& backend) {
    MirroredStrategy strategy{backend};
    strategy.run([](ReplicaContext& replica) {
      const int id = replica.replica_id();
      replica.all_reduce(ReduceOp::kSum, id + 1);
      replica.all_reduce(MergeTag{"loss"}, ReduceOp::kMean, 2.0 * id);
      replica.all_reduce(ReduceOp::kSum, std::map<std::string, double>{{"a", id}, {"b", 0.5}});
      const auto batch = [](CrossReplicaContext& cross, const PerReplica<int>& counts,
                            const PerReplica<double>& sums) {
        return cross.batch_reduce(ReduceOp::kSum, counts, sums);
      };
      replica.merge_call(batch, id + 1, 0.25);
    });
  });
  std::map<std::string, std::string> got;
  for (const Json& step : of_kind(lines, "resume")) {
    std::string& text = got[step["agent"]];
    text += step["name"].get<std::string>() + " " + step.value("op", "");
    for (const Json& value : step["gets"]) text += value["first"].dump();
    text += "; ";
  }
  const std::string all =
      "all_reduce sum[3]; all_reduce \"loss\" mean[1]; "
      "all_reduce sum[1][1]; merge_call [3][0.5]; ";
  EXPECT_EQ(got, (std::map<std::string, std::string>{{"R0", all}, {"R1", all}}));
}

TEST(Trace, HasTheOperatorOfCollectives) {
  const Lines collectives = of_kind(trace_of("op", {}, {.devices = 2}, sum), "collective");
  EXPECT_EQ(collectives.size(), 2U);
  for (const Json& step : collectives) EXPECT_EQ(step["op"], "sum");
}

// `M0 0 v1 [4,7]` of each step of a kind: agent, replica, version, elements.
std::vector<std::string> variables(const Lines& lines, const std::string& kind,
                                   const std::string& list = "writes") {
  std::vector<std::string> steps;
  for (const Json& step : of_kind(lines, kind)) {
    steps.push_back(step["agent"].get<std::string>() + " " +
                    (step.contains("replica") ? step["replica"].dump() : "-") + " v" +
                    step["version"].dump() + " " + elements(lines, step, list).dump());
  }
  return steps;
}

using Words = std::vector<std::string>;

// By hand: 1 + (1 + 2) and 1 + (2 + 4).
TEST(Trace, HasTheTensorsOfVariablesThatAMergeChanges) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Lines lines =
        trace_of("variable", {}, {.devices = 2, .seed = seed}, [](belfry::Backend& backend) {
          MirroredStrategy strategy{backend};
          const auto weight =
              strategy.mirrored_variable([] { return Tensor<float>::full({2}, 1.0F); },
                                         {.name = "weight", .aggregation = Aggregation::kSum});
          strategy.run([&](ReplicaContext& replica) {
            const float id = static_cast<float>(replica.replica_id());
            replica.assign_add(weight, Tensor<float>::from({2}, {id + 1, 2 * id + 2}));
            static_cast<void>(weight.on(replica));
          });
          for (const Tensor<float>& own : strategy.local_values(weight)) own.to_host();
        });
    EXPECT_EQ(variables(lines, "variable_made"), (Words{"H0 0 v0 [1,1]", "H0 1 v0 [1,1]"}));
    EXPECT_EQ(variables(lines, "variable_write"), (Words{"M0 0 v1 [4,7]", "M0 1 v1 [4,7]"}));
    Words reads = variables(lines, "variable_read", "reads");
    std::ranges::sort(reads);
    EXPECT_EQ(reads, (Words{"R0 - v1 [4,7]", "R1 - v1 [4,7]"}));
    const Lines writes = of_kind(lines, "variable_write");
    EXPECT_FALSE(writes[0].contains("bookkeeping"));
    EXPECT_EQ(writes[1]["bookkeeping"], true) << "equal components are shown once";
    const Json line = Json::parse(R"({"variable":0,"name":"weight","kind":"mirrored",)"
                                  R"("type":"float32","shape":[2]})");
    EXPECT_EQ(std::ranges::count(lines, line), 1);
  }
}

// A replica changes the component after the step: the replica's next step tells the value.
TEST(Trace, HasTheComponentsThatReplicasChange) {
  for (const Digests digests : {Digests::kNone, Digests::kAll}) {
    const Options options{.devices = 2, .schedule = Schedule::fixed(), .digests = digests};
    const Lines lines = trace_of("local", {}, options, [](belfry::Backend& backend) {
      MirroredStrategy strategy{backend};
      const auto seen = strategy.replica_local_variable(ReduceOp::kSum, 0);
      const auto sums = strategy.replica_local_variable(
          ReduceOp::kSum, [] { return Tensor<float>::full({1}, 0.5F); });
      strategy.run([&](ReplicaContext& replica) {
        seen.on(replica) += 32;
        seen.on(replica) += 1 + replica.replica_id();
        Tensor<float>& own = sums.on(replica);
        own = multiply(own, 3.0F + replica.replica_id());
      });
      for (const Tensor<float>& own : strategy.local_values(sums)) own.to_host();
      strategy.cross_replica().assign_each(seen, 7);
    });
    EXPECT_EQ(variables(lines, "variable_write"),
              (Words{"R0 - v1 [32]", "R0 - v2 [33]", "R0 - v1 [1.5]", "R1 - v1 [32]",
                     "R1 - v2 [34]", "R1 - v1 [2]", "H0 0 v3 [7]", "H0 1 v3 [7]"}));
    for (const Json& step : of_kind(lines, "variable_write")) {
      EXPECT_FALSE(step.contains("bookkeeping")) << step;
    }
  }
}

TEST(Trace, HasTheChangesOfVariablesOutsideOfRuns) {
  const Lines lines = trace_of("outside", {}, {.devices = 1}, [](belfry::Backend& backend) {
    MirroredStrategy strategy{backend};
    const auto rate = strategy.mirrored_variable(1.0, {.name = "rate"});
    const auto set = [&](double value) {
      strategy.cross_replica().update(rate, [value](double& own) { own = value; });
    };
    Checkpoint checkpoint(strategy);
    checkpoint.add(rate);
    const TensorFile saved = checkpoint.contents();
    set(2);
    checkpoint.restore(saved);
    const auto fail = [&] {
      set(5);
      throw std::runtime_error("no");
    };
    EXPECT_THROW(strategy.transaction(fail), std::runtime_error);
    // Another strategy counts its variables from 0, too.
    MirroredStrategy other{backend};
    other.mirrored_variable(9.0);
  });
  EXPECT_EQ(variables(lines, "variable_write"),
            (Words{"H0 0 v1 [2]", "H0 0 v2 [1]", "H0 0 v3 [5]", "H0 0 v4 [1]"}));
  EXPECT_EQ(of_kind(lines, "variable_made").at(1)["variable"], 1);
}

// All replicas see the component.
TEST(Trace, HasOneStepForAComponentOfAllReplicas) {
  const Lines lines = trace_of("central", {}, {.devices = 2}, [](belfry::Backend& backend) {
    CentralStorageStrategy strategy{backend};
    strategy.mirrored_variable(0.5);
  });
  EXPECT_EQ(variables(lines, "variable_made"), (Words{"H0 - v0 [0.5]"}));
}

// A merge waits for the arrivals, a replica that leaves waits for the merge, and work for its
// enqueueing.
TEST(Trace, HasTheStepsThatAStepWaitsFor) {
  const Lines lines = trace_of("after", {}, {.devices = 2}, sum);
  std::set<std::uint64_t> arrivals;
  for (const Json& step : of_kind(lines, "arrive"))
    arrivals.insert(step["step"].get<std::uint64_t>());
  const Json merge = of_kind(lines, "merge").at(0);
  EXPECT_EQ(merge["after"].get<std::set<std::uint64_t>>(), arrivals);
  for (const Json& step : of_kind(lines, "resume")) {
    EXPECT_EQ(step["after"], Json::array({merge["step"]}));
  }
  std::map<std::uint64_t, Json> steps;
  for (const Json& line : lines) {
    if (line.contains("step")) steps[line["step"]] = line;
  }
  for (const Json& work : of_kind(lines, "execute")) {
    const Json& enqueued = steps[work["after"][0]];
    EXPECT_EQ(enqueued["kind"], "enqueue");
    EXPECT_EQ(enqueued["stream"], work["agent"]);
    EXPECT_EQ(enqueued["item"], work["item"]);
  }
}

TEST(Trace, WithoutValuesHasNoElements) {
  for (const Json& line : trace_of("none", {.values = false}, {.devices = 2}, sum)) {
    EXPECT_EQ(line.dump().find("first"), std::string::npos) << line;
    EXPECT_EQ(line.dump().find("digest"), std::string::npos) << line;
  }
}

TEST(Trace, CountsTheStepsBeyondItsBounds) {
  const std::uint64_t all = trace_of("all", {}, {.devices = 2}, sum).back()["steps"];
  for (const TraceOptions& bound : {TraceOptions{.max_steps = 7}, TraceOptions{.max_bytes = 900}}) {
    const Lines lines = trace_of("cut", bound, {.devices = 2}, sum);
    const Json& end = lines.back();
    const std::uint64_t kept = end["steps"];
    EXPECT_EQ(kept + end["cut"].get<std::uint64_t>(), all);
    EXPECT_LE(kept, bound.max_steps);
    EXPECT_LT(kept, all);
    std::uint64_t next = 0;
    for (const Json& line : lines) {
      if (line.contains("step")) EXPECT_EQ(line["step"], next++);
    }
    EXPECT_EQ(next, kept);
  }
}

TEST(Trace, EndsWithHashAndToken) {
  const std::string path = path_of("end");
  std::string token;
  std::uint64_t hash = 0;
  {
    TraceFile trace{path};
    Backend backend{{.devices = 2, .seed = 9}, Attachments{.trace = &trace}};
    sum(backend);
    token = backend.replay_token();
    hash = backend.hash();
  }
  const Json end = lines_of(path).back();
  EXPECT_EQ(end["token"], token);
  EXPECT_EQ(std::stoull(end["hash"].get<std::string>(), nullptr, 16), hash);
}

// The child dies in its second run: the file has all lines so far, and no last line.
TEST(Trace, OfAKilledProgramHasWholeLines) {
  const std::string path = path_of("killed");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    TraceFile trace{path};
    Backend backend{{.devices = 2}, Attachments{.trace = &trace}};
    sum(backend);
    MirroredStrategy strategy{backend};
    strategy.run([](ReplicaContext& replica) {
      replica.all_reduce(ReduceOp::kSum, 1);
      kill(getpid(), SIGKILL);
    });
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const Lines lines = lines_of(path);
  EXPECT_EQ(of_kind(lines, "run_begin").size(), 2U);
  EXPECT_EQ(of_kind(lines, "run_end").size(), 1U);
  EXPECT_EQ(lines.back()["kind"], "resume");
}

TEST(Trace, NamesTheFailureOfARun) {
  const Lines lines = trace_of("failed", {}, {.devices = 2}, [](belfry::Backend& backend) {
    MirroredStrategy strategy{backend};
    EXPECT_THROW(strategy.run([](ReplicaContext& replica) {
      if (replica.replica_id() == 0) replica.all_reduce(ReduceOp::kSum, 1);
    }),
                 MergeMismatchError);
  });
  EXPECT_EQ(of_kind(lines, "arrive").at(0)["name"], "all_reduce") << "of a merge that never was";
  const Json failed = of_kind(lines, "run_end").at(0)["failed"];
  EXPECT_EQ(failed["code"], "BF-010");
  EXPECT_EQ(failed["replicas"], Json::array({0, 1}));
  EXPECT_NE(failed["lines"][0].get<std::string>().find("trace_test.cpp:"), std::string::npos);
}

TEST(Trace, IsOfOneBackend) {
  TraceFile trace{path_of("twice")};
  const Backend first{{.devices = 1}, Attachments{.trace = &trace}};
  EXPECT_EQ(
      belfry::testing::code_of([&] { Backend({.devices = 1}, Attachments{.trace = &trace}); }),
      ErrorCode::kInvalidArgument);
}

TEST(Trace, OfAFolderThatIsMissingIsRefused) {
  EXPECT_EQ(belfry::testing::code_of([] { TraceFile{path_of("missing/folder")}; }),
            ErrorCode::kFile);
}

// Both hosts sum 1 over the group: the call has an arrival of each host.
TEST(Trace, OfAClusterHasItsHosts) {
  const std::string path = path_of("hosts");
  {
    TraceFile trace{path};
    Cluster cluster{{.hosts = 2, .devices = 1}, trace};
    cluster.run([](Host& host) {
      MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
      strategy.run([](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kSum, 1); });
    });
  }
  const Lines lines = lines_of(path);
  EXPECT_EQ(lines.front()["hosts"], 2);
  std::set<std::string> hosts;
  for (const Json& step : of_kind(lines, "call")) hosts.insert(step["agent"].get<std::string>());
  EXPECT_EQ(hosts, (std::set<std::string>{"H0", "H1"}));
  std::set<std::string> replicas;
  for (const Json& step : of_kind(lines, "resume")) {
    if (step.contains("gets")) {
      replicas.insert(step["agent"].get<std::string>());
      EXPECT_EQ(step["gets"][0]["first"], Json::array({2}));
    }
  }
  EXPECT_EQ(replicas, (std::set<std::string>{"H0.R0", "H1.R0"}));
}

// The second host has the second pair of replicas, and counts its own from 0.
TEST(Trace, OfAClusterNamesTheHostOfStreamsAndEvents) {
  const std::string path = path_of("streams");
  {
    TraceFile trace{path};
    Cluster cluster{{.hosts = 2, .devices = 2}, trace};
    cluster.run([](Host& host) {
      MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
      strategy.run([](ReplicaContext& replica) {
        replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({2}, 1));
      });
    });
  }
  const Lines lines = lines_of(path);
  std::set<std::string> streams;
  for (const Json& line : lines) {
    const std::string agent = line.value("agent", "");
    if (line.value("role", "") == "compute") streams.insert(line["name"].get<std::string>());
    if (!line.contains("event")) continue;
    const std::string event = line["event"];
    EXPECT_NE(event.find("of " + agent.substr(0, 2)), std::string::npos) << line;
  }
  for (const std::string host : {"0", "1"}) {
    for (const std::string replica : {"0", "1"}) {
      EXPECT_TRUE(streams.contains("compute of replica " + replica + " of host " + host));
    }
  }
}

// A backend whose devices tell nothing: the operations of a run of one replica, by hand.
TEST(Trace, OfASinkHasTheStepsOfReplicas) {
  const std::string path = path_of("sink");
  {
    TraceFile trace{path};
    belfry::detail::TraceSink sink(trace, {.backend = "cuda", .devices = 1}, nullptr, {});
    const AgentId replica{AgentId::Kind::kReplica, 0};
    const AgentId merges{AgentId::Kind::kMerge, 0};
    sink.on_operation(
        {.kind = OperationKind::kRunBegin, .agent = merges, .subject = 1, .value = 7});
    sink.on_operation({.kind = OperationKind::kStart, .agent = replica});
    sink.on_operation({.kind = OperationKind::kArrive, .agent = replica, .subject = 1, .value = 7});
    sink.on_operation({.kind = OperationKind::kMerge, .agent = merges, .subject = 1, .value = 7});
    sink.on_operation({.kind = OperationKind::kResume, .agent = replica, .subject = 1, .value = 7});
    sink.on_operation({.kind = OperationKind::kEnd, .agent = replica, .subject = 1, .value = 7});
    sink.on_operation({.kind = OperationKind::kRunEnd, .agent = merges, .value = 7});
  }
  std::string steps;
  for (const Json& line : lines_of(path)) {
    if (!line.contains("step")) continue;
    EXPECT_EQ(line["run"], 1);
    steps += line["kind"].get<std::string>() + line.value("after", Json::array()).dump() + " ";
  }
  EXPECT_EQ(steps, "run_begin[] start[0] arrive[] merge[2] resume[3] end[] run_end[5] ");
}

// Readers of JSON keep whole numbers up to 2^53, and know no NaN.
TEST(Trace, WritesNumbersThatReadersCannotKeepAsTexts) {
  const auto text = [](DType dtype, const auto& values) {
    const std::string all = belfry::detail::traced_elements(dtype, values.data(), values.size());
    return all.substr(0, all.find(",\"digest"));
  };
  const std::int64_t most = std::int64_t{1} << 53;
  EXPECT_EQ(text(DType::kInt64, std::vector{-most, -most - 1, most + 1, std::int64_t{-5}}),
            R"("first":[-9007199254740992,"-9007199254740993","9007199254740993",-5])");
  EXPECT_EQ(text(DType::kInt8, std::vector<std::int8_t>{-128, 65}), R"("first":[-128,65])");
  EXPECT_EQ(text(DType::kBool, std::vector<std::uint8_t>{0, 2}), R"("first":[false,true])");
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(text(DType::kFloat32, std::vector{0.5F, infinity, -infinity, infinity - infinity}),
            R"("first":[0.5,"inf","-inf","nan"])");
  EXPECT_EQ(text(DType::kBFloat16, std::vector{BFloat16(1.5F)}), R"("first":[1.5])");
}

TEST(Trace, OfASinkHasVariables) {
  const std::string path = path_of("sink_variables");
  {
    TraceFile trace{path};
    belfry::detail::TraceSink sink(trace, {.backend = "cuda", .devices = 2}, nullptr, {});
    Backend backend{{.devices = 2}};
    MirroredStrategy strategy{backend};
    const auto rate = strategy.mirrored_variable(0.5);
    sink.made(rate.shared_state());
    sink.changed(*rate.shared_state());
  }
  const Lines lines = lines_of(path);
  EXPECT_EQ(variables(lines, "variable_made"), (Words{"H0 0 v0 [0.5]", "H0 1 v0 [0.5]"}));
  EXPECT_EQ(variables(lines, "variable_write"), (Words{"H0 0 v1 [0.5]", "H0 1 v1 [0.5]"}));
}

// Programs of raw streams, with and without races. A trace waits for nothing and chooses nothing.
RC_GTEST_PROP(TraceProperty, ChangesNoRun,
              (std::uint64_t seed, std::uint64_t program_seed, bool values)) {
  const auto program = testing::RawProgram::draw(program_seed, 8);
  const Options options{.devices = 2, .digests = Digests::kAll, .seed = seed};
  Backend plain{options};
  const testing::RawOutcome expected = testing::RawRun(plain).run(program);
  TraceFile trace{path_of("property"), {.values = values}};
  Backend traced{options, Attachments{.trace = &trace}};
  RC_ASSERT(testing::RawRun(traced).run(program) == expected);
  RC_ASSERT(traced.hash() == plain.hash());
  RC_ASSERT(traced.choices() == plain.choices());
  RC_ASSERT(traced.leaks() == plain.leaks());
}

// Changes of variables that a seed draws: in merges, by replicas, outside of runs, undone.
std::vector<float> drawn_changes(belfry::Backend& backend, std::uint64_t seed) {
  using Values = Tensor<float>;
  MirroredStrategy strategy{backend};
  CrossReplicaContext& cross = strategy.cross_replica();
  const auto weight = strategy.mirrored_variable([] { return Values::full({2}, 1); },
                                                 {.aggregation = Aggregation::kSum});
  const auto count = strategy.replica_local_variable(ReduceOp::kSum, 0);
  const auto own =
      strategy.replica_local_variable(ReduceOp::kSum, [] { return Values::full({2}, 0); });
  testing::DrawnNumbers numbers(seed);
  for (int i = 0; i < 6; ++i) {
    const bool is_undone = numbers.one_in(4);
    const bool in_place = numbers.one_in(2);
    const float x = static_cast<float>(numbers.below(9));
    const auto add_x = [x](Values& value) { value = add(value, Values::full({2}, x)); };
    const auto change = [&] {
      strategy.run([&](ReplicaContext& replica) {
        add_x(own.on(replica));
        count.on(replica) += 1;
        replica.assign_add(weight, add(own.on(replica), weight.on(replica)));
        count.on(replica) += 2;
      });
      cross.update(UpdateOptions{.in_place = in_place}, weight, add_x);
      cross.assign_each(count, 4);
      if (is_undone) throw std::runtime_error("undone");
    };
    try {
      strategy.transaction(change);
    } catch (const std::runtime_error&) {
    }
  }
  std::vector<float> values{static_cast<float>(strategy.read(count))};
  for (const auto& each : {strategy.local_values(weight), strategy.local_values(own)}) {
    for (const Values& value : each) values.push_back(value.to_host()[0]);
  }
  return values;
}

RC_GTEST_PROP(TraceProperty, OfVariablesChangesNoRun, (std::uint64_t seed, bool values)) {
  const Options options{.devices = 2, .digests = Digests::kAll, .seed = seed};
  Backend plain{options};
  const std::vector<float> expected = drawn_changes(plain, seed);
  TraceFile trace{path_of("variables"), {.values = values}};
  Backend traced{options, Attachments{.trace = &trace}};
  RC_ASSERT(drawn_changes(traced, seed) == expected);
  RC_ASSERT(traced.hash() == plain.hash());
  RC_ASSERT(traced.choices() == plain.choices());
  RC_ASSERT(traced.leaks() == plain.leaks());
}

}  // namespace
}  // namespace belfry::sim::trace_test
