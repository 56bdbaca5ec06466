// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Rows C01 to C07 of the conformance catalogue, and the log of a strategy's choice (SEM-146).
#include "belfry/belfry.h"
#include "belfry/cross_device_ops.h"
#include "belfry/testing/asserts.h"
#include "collectives/testing/counting_links.h"
#include "run/testing/borrowed_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace belfry::algorithm_choice_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Links = std::vector<std::vector<int>>;

// Two quads with all links, and a link between the members of a pair (i, i + 4).
const Links kTwoQuads{{1, 2, 3, 4}, {0, 2, 3, 5}, {0, 1, 3, 6}, {0, 1, 2, 7},
                      {0, 5, 6, 7}, {1, 4, 6, 7}, {2, 4, 5, 7}, {3, 4, 5, 6}};

std::vector<int> numbers_below(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

AlgorithmChoice choice(int replicas, const Links& links = {}) {
  HostBackend backend(replicas);
  ReplicaDevices devices(backend, numbers_below(replicas));
  return choose_the_best(devices, links);
}

TEST(ChooseTheBest, C01_TwoLinkedQuadsAreAHierarchy) {
  testing::asserts("SEM-146");
  const AlgorithmChoice chosen = choice(8, kTwoQuads);
  EXPECT_EQ(chosen.algorithm->name(), "packed hierarchical");
  EXPECT_EQ(to_string(chosen.algorithm->plan(8)->additions(0)),
            "((((x0 + x1) + x2) + x3) + (((x4 + x5) + x6) + x7))");
  EXPECT_THAT(chosen.reason, HasSubstr("the links make groups of 4 replicas"));
  EXPECT_EQ(chosen.warning, "");
}

TEST(ChooseTheBest, C02_OneQuadIsNative) {
  testing::asserts("SEM-146");
  const Links quad(kTwoQuads.begin(), kTwoQuads.begin() + 4);
  EXPECT_EQ(choice(4, quad).algorithm->name(), "native");
}

TEST(ChooseTheBest, C03_LinksToItselfAreNoLinks) {
  testing::asserts("SEM-146");
  Links links = kTwoQuads;
  for (int i = 0; i < 8; ++i) links[static_cast<std::size_t>(i)].push_back(i);
  EXPECT_EQ(choice(8, links).algorithm->name(), "packed hierarchical");
}

TEST(ChooseTheBest, C04_RotatedLinksAreNative) {
  testing::asserts("SEM-146");
  Links links = kTwoQuads;
  std::rotate(links.begin(), links.begin() + 1, links.end());
  const AlgorithmChoice chosen = choice(8, links);
  EXPECT_EQ(chosen.algorithm->name(), "native");
  EXPECT_EQ(chosen.warning, "the links are not symmetric, and are left out");
}

TEST(ChooseTheBest, C05_OneDeviceIsReducedThere) {
  testing::asserts("SEM-146");
  EXPECT_EQ(choice(1).algorithm->name(), "to one device");
  EXPECT_EQ(choice(1, {{}}).algorithm->name(), "to one device");
}

TEST(ChooseTheBest, C06_ACommunicatorDecides) {
  testing::asserts("SEM-146");
  EXPECT_EQ(choice(2).algorithm->name(), "native");
  testing::CountingLinks without(2);
  ReplicaDevices devices(without, {0, 1});
  const AlgorithmChoice chosen = choose_the_best(devices);
  EXPECT_EQ(chosen.algorithm->name(), "to one device");
  EXPECT_EQ(chosen.warning, "the first device receives every tensor of every replica");
}

// A backend that knows its links.
class Linked final : public BorrowedDevices {
 public:
  explicit Linked(const Links& links)
      : BorrowedDevices(static_cast<int>(links.size())), connections_{.links = links, .host = 0} {}
  const Connections& connections() const override { return connections_; }

 private:
  Connections connections_;
};

std::string name_with_links_of_backend(const Links& links, std::vector<int> indices) {
  Linked backend(links);
  ReplicaDevices devices(backend, std::move(indices));
  return std::string(choose_the_best(devices).algorithm->name());
}

TEST(ChooseTheBest, C01_C02_C03_C04_LinksOfTheBackendDecideIfNoneAreGiven) {
  testing::asserts("SEM-146");
  EXPECT_EQ(name_with_links_of_backend(kTwoQuads, numbers_below(8)), "packed hierarchical");
  const Links quad(kTwoQuads.begin(), kTwoQuads.begin() + 4);
  EXPECT_EQ(name_with_links_of_backend(quad, numbers_below(4)), "native");
  Links own = kTwoQuads;
  for (int i = 0; i < 8; ++i) own[static_cast<std::size_t>(i)].push_back(i);
  EXPECT_EQ(name_with_links_of_backend(own, numbers_below(8)), "packed hierarchical");
  Links rotated = kTwoQuads;
  std::rotate(rotated.begin(), rotated.begin() + 1, rotated.end());
  EXPECT_EQ(name_with_links_of_backend(rotated, numbers_below(8)), "native");
}

TEST(ChooseTheBest, LinksOfTheBackendAreThoseOfTheReplicasDevices) {
  testing::asserts("SEM-146");
  // Devices 5 and 4 are linked, and devices 2 and 0, but not 5 and 2.
  EXPECT_EQ(name_with_links_of_backend(kTwoQuads, {5, 4, 2, 0}), "packed hierarchical");
  EXPECT_EQ(name_with_links_of_backend(kTwoQuads, {5, 2, 4, 0}), "native");
  EXPECT_EQ(name_with_links_of_backend({{1}, {0}, {3}, {2}}, {3, 2, 1, 0}), "packed hierarchical");
  EXPECT_EQ(name_with_links_of_backend({{1}, {0}, {3}, {2}}, {3, 1, 2, 0}), "native");
  // Links that the user gives take precedence.
  Linked backend(kTwoQuads);
  ReplicaDevices devices(backend, numbers_below(8));
  const Links none(8);
  EXPECT_EQ(choose_the_best(devices, none).algorithm->name(), "native");
}

// Overridden: devices of one machine, or of one GPU, have a communicator: one kernel reads all
// inputs. The older system falls back to one device, with a warning.
TEST(ChooseTheBest, C07_LogicalDevicesAreNative) {
  testing::asserts("SEM-146");
  const AlgorithmChoice chosen = choice(2);
  EXPECT_EQ(chosen.algorithm->name(), "native");
  EXPECT_EQ(chosen.warning, "");
}

TEST(ChooseTheBest, TakesTheLargestGroups) {
  testing::asserts("SEM-146");
  // Pairs (0, 1), (2, 3), (4, 5) and all links within 0 to 2 and 3 to 5: groups of 3.
  const Links triples{{1, 2}, {0, 2}, {0, 1, 3}, {4, 5, 2}, {3, 5}, {3, 4}};
  EXPECT_THAT(choice(6, triples).reason, HasSubstr("groups of 3"));
  const Links pairs{{1}, {0}, {3}, {2}, {5}, {4}};
  EXPECT_THAT(choice(6, pairs).reason, HasSubstr("groups of 2"));
  // A chain of three has no groups of equal size.
  EXPECT_EQ(choice(3, {{1}, {0, 2}, {1}}).algorithm->name(), "native");
  EXPECT_THAT(choice(3, {{1}, {0}}).warning, HasSubstr("links of 2 replicas were given for 3"));
}

// 2^24 + (1 + 1) in groups of four; in replica order 2^24 + 1 is a tie that goes to 2^24, twice.
float sum_of_a_tie(Strategy& strategy) {
  return strategy.run([](ReplicaContext& replica) {
    const int id = replica.replica_id();
    const float own = id == 0 ? 16777216.0F : id == 4 || id == 5 ? 1.0F : 0.0F;
    return replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({1}, own)).to_host()[0];
  })[0];
}

TEST(LogOfAStrategy, HasItsChoice) {
  testing::asserts("SEM-146");
  std::vector<std::string> lines;
  const auto log = [&](const std::string& line) { lines.push_back(line); };
  HostBackend backend(8);
  MirroredStrategy strategy(backend, {.links = kTwoQuads, .log = log});
  EXPECT_THAT(lines, ElementsAre(HasSubstr("hierarchical")));
  EXPECT_EQ(sum_of_a_tie(strategy), 16777218.0F);
  lines.clear();
  strategy.configure({.cross_device_ops = std::make_shared<RingAllReduce>(), .log = log});
  EXPECT_THAT(lines, ElementsAre("tensors are reduced by the algorithm 'ring' of the options"));
  lines.clear();
  strategy.configure({.order = ReductionOrder::kTree, .log = log});
  EXPECT_THAT(lines, ElementsAre("tensors are reduced to one device, because the options name tree "
                                 "order, which the communicator does not have"));
  lines.clear();
  strategy.configure({.order = ReductionOrder::kReplicaOrder, .log = log});
  EXPECT_THAT(lines, ElementsAre("tensors are reduced by the native algorithm, because the "
                                 "communicator has the named order"));
}

TEST(LogOfAStrategy, IsNotNeededForLinksOfTheBackend) {
  testing::asserts("SEM-146");
  Linked backend(kTwoQuads);
  MirroredStrategy strategy(backend);
  EXPECT_EQ(sum_of_a_tie(strategy), 16777218.0F);
  strategy.configure({.links = Links(8)});
  EXPECT_EQ(sum_of_a_tie(strategy), 16777216.0F) << "the user says that there are no links";
}

TEST(LogOfAStrategy, IsAnOptionOfCentralStorageToo) {
  testing::asserts("SEM-146");
  std::vector<std::string> lines;
  HostBackend backend(8);
  CentralStorageStrategy strategy(
      backend,
      {.links = kTwoQuads, .log = [&](const std::string& line) { lines.push_back(line); }});
  EXPECT_THAT(lines, ElementsAre(HasSubstr("the links make groups of 4 replicas")));
  EXPECT_EQ(sum_of_a_tie(strategy), 16777218.0F);
}

TEST(LogOfAStrategy, HasWarningsAfterTheChoice) {
  testing::asserts("SEM-146");
  std::vector<std::string> lines;
  testing::CountingLinks backend(3);
  const StrategyOptions options{.log = [&](const std::string& line) { lines.push_back(line); }};
  MirroredStrategy strategy(backend, options);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("to one device"),
                                 "warning: the first device receives every tensor of every "
                                 "replica"));
}

}  // namespace
}  // namespace belfry::algorithm_choice_test
