// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The names and operators of merges and collectives in traces.
#include "belfry/backend/collective.h"
#include "belfry/belfry.h"
#include "belfry/detail/json_value.h"
#include "belfry/sim/backend.h"
#include "belfry/trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace belfry::sim::verb_names_test {
namespace {

using Words = std::vector<std::string>;

// `all_reduce max` of each step of a kind by an agent, in order.
Words names_of(const std::string& kind, const std::string& agent,
               const std::function<void(belfry::Backend&)>& program) {
  const std::string path =
      ::testing::TempDir() + "belfry_verb_names_" + std::to_string(getpid()) + "_" + kind;
  {
    TraceFile trace{path, {}};
    Backend backend{{.devices = 2, .schedule = Schedule::fixed()}, Attachments{.trace = &trace}};
    program(backend);
    trace.close();
  }
  Words names;
  std::ifstream in(path);
  for (std::string text; std::getline(in, text);) {
    const belfry::detail::JsonValue line = belfry::detail::parse_json(text);
    if (!line.has("step")) continue;  // An agent of the kind.
    if (line.text_of("kind") != kind || line.text_of("agent") != agent) continue;
    const std::string& op = line.text_of("op");
    names.push_back(line.text_of("name") + (op.empty() ? "" : " " + op));
  }
  return names;
}

void all_verbs(belfry::Backend& backend) {
  MirroredStrategy strategy{backend};
  const ReplicaGroups groups = strategy.groups({{0, 1}});
  strategy.run([&](ReplicaContext& replica) {
    const std::vector<float> x{1, 2};
    for (const ReduceOp op :
         {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kProd}) {
      (void)replica.all_reduce(op, 1.0F);
    }
    (void)replica.all_gather(x);
    (void)replica.reduce_scatter(ReduceOp::kMax, x, Axis(0));
    (void)replica.all_to_all(x);
    (void)replica.broadcast(MergeTag{"weights"}, x, 1);
    (void)replica.permute(x, {{0, 1}});
    (void)replica.scatter_from(x, 0);
    (void)replica.gather_to(x, 0);
    (void)replica.in(groups).all_to_all(x);
  });
}

TEST(VerbNames, AreThoseOfTheVerbs) {
  const Words merges{"all_reduce",     "all_reduce",   "all_reduce",
                     "all_reduce",     "all_reduce",   "all_gather",
                     "reduce_scatter", "all_to_all",   "broadcast \"weights\"",
                     "permute",        "scatter_from", "gather_to"};
  Words done = names_of("merge", "M0", all_verbs);
  ASSERT_EQ(done.size(), merges.size() + 1);
  EXPECT_TRUE(done.back().starts_with("all_to_all")) << done.back();
  done.pop_back();
  EXPECT_EQ(done, merges);
  Words arrivals = names_of("arrive", "R1", all_verbs);
  arrivals.resize(6);
  EXPECT_EQ(arrivals, (Words{"all_reduce sum", "all_reduce mean", "all_reduce max",
                             "all_reduce min", "all_reduce prod", "all_gather"}));
}

// A collective of each kind, on two ranks: a number each, and two where a rank has one for each.
void all_collectives(belfry::Backend& backend) {
  const std::array<int, 2> devices{0, 1};
  const auto communicator = backend.communicator(devices);
  std::vector<BufferView> ones;
  std::vector<BufferView> twos;
  std::vector<CollectivePart> parts(2);
  for (int rank = 0; rank < 2; ++rank) {
    Device& device = backend.device(rank);
    Stream& stream = device.communication_stream();
    ones.push_back(view_of(device.allocate(4, stream), DType::kFloat32));
    twos.push_back(view_of(device.allocate(8, stream), DType::kFloat32));
    const std::array<float, 2> zeros{};
    stream.write(ones.back(), zeros.data());
    stream.write(twos.back(), zeros.data());
    parts[static_cast<std::size_t>(rank)].stream = &stream;
  }
  const auto call = [&](Collective collective, const std::vector<BufferView>& inputs,
                        const std::vector<BufferView>& outputs) {
    for (std::size_t rank = 0; rank < 2; ++rank) {
      parts[rank].input = inputs[rank];
      parts[rank].output = outputs[rank];
    }
    collective.parts = parts;
    communicator->run(collective);
  };
  call({.kind = CollectiveKind::kAllReduce, .op = ReduceOp::kMin}, ones, ones);
  call({.kind = CollectiveKind::kBroadcast, .root = 1}, ones, ones);
  call({.kind = CollectiveKind::kAllGather}, ones, twos);
  call({.kind = CollectiveKind::kReduceScatter, .op = ReduceOp::kProd}, twos, ones);
  const std::vector<Transfer> transfers{{.from = 0, .to = 1, .input = ones[0], .output = ones[1]}};
  call({.kind = CollectiveKind::kExchange, .transfers = transfers}, ones, ones);
  for (const CollectivePart& part : parts) part.stream->synchronize();
}

TEST(VerbNames, AreThoseOfTheCollectives) {
  // The communication stream of the second device.
  EXPECT_EQ(
      names_of("collective", "S17", all_collectives),
      (Words{"all_reduce min", "broadcast", "all_gather", "reduce_scatter prod", "exchange"}));
}

}  // namespace
}  // namespace belfry::sim::verb_names_test
