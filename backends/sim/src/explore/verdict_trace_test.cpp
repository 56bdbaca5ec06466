// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The trace of an exploration.
#include "belfry/belfry.h"
#include "belfry/sim/explore.h"
#include "testing/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::sim::verdict_trace_test {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

struct Judged {
  Verdict verdict;
  std::vector<Json> lines;

  const Json& verdict_line() const {
    for (const Json& line : lines) {
      if (line.contains("verdict")) return line["verdict"];
    }
    throw std::logic_error("no verdict in the trace");
  }
  std::vector<std::string> agents_of(const std::string& kind) const {
    std::vector<std::string> agents;
    for (const Json& line : lines) {
      if (line.contains("step") && line["kind"] == kind) agents.push_back(line["agent"]);
    }
    return agents;
  }
};

template <class Body>
Judged judged(int devices, const Body& body) {
  testing::HostMemory::attached().reset();
  const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path = ::testing::TempDir() + "belfry_verdict_trace_" + name;
  TraceFile trace{path};
  Judged found{explore({.devices = devices}, body, &trace), {}};
  trace.close();
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) found.lines.push_back(Json::parse(line));
  return found;
}

TEST(VerdictTrace, HasTheScheduleThatDiffersFromTheSerialOne) {
  const Judged found = judged(2, [](Backend& backend) {
    MirroredStrategy strategy{backend};
    double last = 0;
    strategy.run([&](ReplicaContext& replica) { last = replica.replica_id(); });
    return last;
  });
  ASSERT_EQ(found.verdict.level(), VerdictLevel::kRefuted) << explain(found.verdict);
  EXPECT_EQ(found.verdict_line()["level"], "REFUTED");
  // In the serial schedule replica 0 starts first.
  EXPECT_THAT(found.agents_of("start"), ElementsAre("R1", "R0"));
  EXPECT_THAT(found.lines.front()["options"].get<std::string>(),
              HasSubstr(found.verdict.tokens().at(1)));
}

TEST(VerdictTrace, HasTheAccessesOfARace) {
  const Judged found = judged(2, [](Backend& backend) {
    MirroredStrategy strategy{backend};
    const auto stream = backend.device(0).create_stream();
    const BufferView view = view_of(backend.device(0).allocate(4, *stream), DType::kInt32);
    strategy.run([&](ReplicaContext&) {
      const int same = 5;
      stream->write(view, &same);
    });
    int value = 0;
    stream->read(&value, view);
    return value;
  });
  ASSERT_EQ(found.verdict.level(), VerdictLevel::kRacy) << explain(found.verdict);
  EXPECT_THAT(found.verdict_line()["races"], SizeIs(1));
  EXPECT_THAT(found.agents_of("enqueue"), UnorderedElementsAre("R0", "R1"));
}

TEST(VerdictTrace, HasTheJudgedScheduleOfACertificate) {
  const Judged found = judged(2, [](Backend& backend) {
    MirroredStrategy strategy{backend};
    return strategy.run(
        [](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, 0.5); })[0];
  });
  ASSERT_EQ(found.verdict.level(), VerdictLevel::kCertified) << explain(found.verdict);
  EXPECT_EQ(found.verdict_line()["level"], "CERTIFIED");
  EXPECT_THAT(found.agents_of("resume"), SizeIs(2));
}

TEST(VerdictTrace, HasNoRunOfAProgramThatDoesNotRepeat) {
  int runs = 0;
  const Judged found = judged(2, [&](Backend&) { return ++runs; });
  ASSERT_EQ(found.verdict.level(), VerdictLevel::kNone);
  EXPECT_THAT(found.lines, SizeIs(1)) << "the last line alone";
}

}  // namespace
}  // namespace belfry::sim::verdict_trace_test
