// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Sharded variables of strategies over several processes.
#include "belfry/belfry.h"
#include "belfry/checkpoint.h"
#include "belfry/sim/cluster.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "processes/hosts.h"
#include "sharded/array_bytes.h"
#include "words/temporary_folder_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace belfry::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

/// The shape of an array, and the axis of the rows.
struct Layout {
  std::vector<std::int64_t> extents{};
  int axis = 0;

  Shape shape() const { return Shape(extents); }
};

Layout drawn_layout() {
  Layout layout;
  const auto rank = *rc::gen::inRange<std::size_t>(1, 4);
  layout.extents = *rc::gen::container<std::vector<std::int64_t>>(
      rank, rc::gen::element<std::int64_t>(1, 2, 3, 5, 7, 10));
  layout.axis = *rc::gen::inRange(0, static_cast<int>(rank));
  return layout;
}

std::vector<int> drawn_hosts() {
  const auto hosts = *rc::gen::inRange<std::size_t>(1, 4);
  return *rc::gen::container<std::vector<int>>(hosts, rc::gen::inRange(1, 4));
}

using Body = std::function<void(Strategy&, const ShardedVariable<std::int32_t>&)>;

// Calls `body` on each host, with a variable of these elements. `by_rows` makes the parts alone.
void on_cluster(const std::vector<int>& devices, std::uint64_t seed, const Layout& layout,
                const Integers& elements, bool by_rows, const Body& body) {
  sim::Cluster cluster{{.devices_of = devices, .seed = seed}};
  cluster.run([&](sim::Host& host) {
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
    const auto whole = [&] { return Tensor<std::int32_t>::from(layout.shape(), elements); };
    const auto rows = [&](std::int64_t begin, std::int64_t end) {
      return slice(whole(), Axis(layout.axis), begin, end);
    };
    const VariableOptions options{.name = "table"};
    body(strategy, by_rows
                       ? strategy.sharded_variable(layout.shape(), rows, Axis(layout.axis), options)
                       : strategy.sharded_variable(whole, Axis(layout.axis), options));
  });
}

RC_GTEST_PROP(ShardedProcesses, HaveTheWholeOfOneProcess, (std::uint16_t seed)) {
  const Layout layout = drawn_layout();
  const std::vector<int> devices = drawn_hosts();
  const bool by_rows = *rc::gen::arbitrary<bool>();
  const Integers elements = counted(layout.shape());
  std::vector<Integers> seen;
  on_cluster(devices, seed, layout, elements, by_rows,
             [&](Strategy& strategy, const ShardedVariable<std::int32_t>& table) {
               seen.push_back(strategy.read(table).to_host());
               const auto wholes = strategy.run(
                   [&](ReplicaContext& replica) { return table.whole(replica).to_host(); });
               seen.insert(seen.end(), wholes.begin(), wholes.end());
             });
  for (const Integers& one : seen) RC_ASSERT(one == elements);
}

RC_GTEST_PROP(ShardedProcesses, AreRestoredOnOthers, (std::uint16_t seed)) {
  const Layout layout = drawn_layout();
  const std::vector<int> from = drawn_hosts();
  const std::vector<int> to = drawn_hosts();
  const Integers elements = counted(layout.shape());
  const TemporaryFolder folder;
  on_cluster(from, seed, layout, elements, false,
             [&](Strategy& strategy, const ShardedVariable<std::int32_t>& table) {
               Checkpoint(strategy).add(table).save(folder / "file");
             });
  RC_ASSERT(array_in(folder / "file", "table", layout.shape()) == elements);
  std::vector<Integers> seen;
  on_cluster(to, seed, layout, Integers(elements.size()), true,
             [&](Strategy& strategy, const ShardedVariable<std::int32_t>& table) {
               const auto step = strategy.mirrored_variable(1, {.name = "step"});
               Checkpoint checkpoint(strategy);
               checkpoint.add(table).restore(folder / "file");
               checkpoint.add(step);
               seen.push_back(strategy.read(table).to_host());
               const TensorFile file = checkpoint.contents();
               strategy.cross_replica().update(table,
                                               [](Tensor<std::int32_t>& part) { scale(part, 2); });
               checkpoint.restore(file);
               seen.push_back(strategy.read(table).to_host());
             });
  for (const Integers& one : seen) RC_ASSERT(one == elements);
}

// Three pieces, each with rows of all hosts.
TEST(ShardedProcesses, ExchangeLargeArraysInPieces) {
  testing::asserts("SEM-283");
  const Layout layout{{130, 50, 100}, 1};
  const Integers elements = counted(layout.shape());
  const TemporaryFolder folder;
  on_cluster({2, 1, 3}, 7, layout, elements, true,
             [&](Strategy& strategy, const ShardedVariable<std::int32_t>& table) {
               Checkpoint(strategy).add(table).save(folder / "file");
             });
  EXPECT_EQ(array_in(folder / "file", "table", layout.shape()), elements);
  on_cluster({1, 3}, 7, layout, Integers(elements.size()), true,
             [&](Strategy& strategy, const ShardedVariable<std::int32_t>& table) {
               Checkpoint(strategy).add(table).restore(folder / "file");
               EXPECT_EQ(strategy.read(table).to_host(), elements);
             });
}

// A process without devices has no rows, and joins the exchanges; process 0 writes the file.
TEST(ShardedProcesses, MayHaveNoDevices) {
  testing::asserts("SEM-283");
  const Layout layout{{7, 3}, 0};
  const Integers elements = counted(layout.shape());
  const TemporaryFolder folder;
  on_cluster({2, 0, 1}, 7, layout, elements, false,
             [&](Strategy& strategy, const ShardedVariable<std::int32_t>& table) {
               EXPECT_EQ(strategy.read(table).to_host(), elements);
               Checkpoint(strategy).add(table).save(folder / "file");
             });
  EXPECT_EQ(array_in(folder / "file", "table", layout.shape()), elements);
  on_cluster({0, 3}, 7, layout, Integers(elements.size()), true,
             [&](Strategy& strategy, const ShardedVariable<std::int32_t>& table) {
               Checkpoint(strategy).add(table).restore(folder / "file");
               EXPECT_EQ(strategy.read(table).to_host(), elements);
             });
}

// Calls `use` in a merge of the replicas 0 to `replicas` - 1, and returns the text of the error.
std::string text_of_merge(Strategy& strategy, int replicas, const std::function<void()>& use) {
  std::vector<std::optional<int>> some(static_cast<std::size_t>(strategy.num_replicas()));
  std::fill(some.begin(), some.begin() + replicas, 1);
  return text_of_error<Error>([&] {
    strategy.run([&](ReplicaContext& replica,
                     int) { replica.merge_call([&](CrossReplicaContext&) { use(); }); },
                 PerReplica<int>::from(some));
  });
}

// A process without rows listens to a merge, and the rows are those of the other processes.
TEST(ShardedProcesses, AreUsedWhileProcessesWithoutRowsListen) {
  testing::asserts("SEM-292");
  const Layout layout{{2, 3}, 0};
  const Integers elements = counted(layout.shape());
  Integers tripled = elements;
  for (std::int32_t& element : tripled) element *= 3;
  const TemporaryFolder folder;
  for (const std::vector<int>& devices : {std::vector<int>{1, 1, 2}, std::vector<int>{2, 0}}) {
    on_cluster(devices, 7, layout, elements, false,
               [&](Strategy& strategy, const ShardedVariable<std::int32_t>& table) {
                 Checkpoint checkpoint(strategy);
                 checkpoint.add(table).save(folder / "file");
                 const auto uses = [&] {
                   strategy.cross_replica().update(
                       table, [](Tensor<std::int32_t>& part) { scale(part, 3); });
                   EXPECT_EQ(strategy.read(table).to_host(), tripled);
                   checkpoint.save(folder / "tripled");
                   checkpoint.restore(folder / "file");
                   EXPECT_EQ(strategy.read(table).to_host(), elements);
                   checkpoint.restore(TensorFile::read(folder / "tripled"));
                 };
                 EXPECT_EQ(text_of_merge(strategy, 2, uses), "nothing was thrown");
                 EXPECT_EQ(strategy.read(table).to_host(), tripled);
               });
    EXPECT_EQ(array_in(folder / "tripled", "table", layout.shape()), tripled);
  }
}

// A run to which a process with rows listens makes, changes and saves no sharded variable. Pieces
// of files go through process 0.
TEST(ShardedProcesses, RefuseRunsToWhichProcessesListen) {
  testing::asserts("SEM-284");
  const Layout layout{{7, 3}, 0};
  const TemporaryFolder folder;
  const std::vector<Body> uses{
      [](Strategy& strategy, const auto& table) {
        strategy.cross_replica().update(table, [](Tensor<std::int32_t>& part) { scale(part, 2); });
      },
      [](Strategy& strategy, const auto& table) { strategy.read(table); },
      [&](Strategy& strategy, const auto& table) {
        Checkpoint(strategy).add(table).save(folder / "file");
      },
      [&](Strategy& strategy, const auto& table) {
        Checkpoint(strategy).add(table).restore(folder / "file");
      },
      [](Strategy& strategy, const auto& table) {
        Checkpoint checkpoint(strategy);
        TensorFile file;
        file.tensors["table"] = {DType::kInt32, table.shape(), std::vector<std::byte>(84)};
        checkpoint.add(table).restore(file);
      },
      [](Strategy& strategy, const auto&) {
        strategy.sharded_variable([] { return Tensor<float>::zeros({4}); }, Axis(0));
      }};
  const auto require_refused = [&](const Body& use, const std::vector<int>& devices) {
    std::vector<std::string> texts;
    on_cluster(devices, 7, layout, counted(layout.shape()), false,
               [&](Strategy& strategy, const ShardedVariable<std::int32_t>& table) {
                 Checkpoint(strategy).add(table).save(folder / "file");
                 texts.push_back(text_of_merge(strategy, 2, [&] { use(strategy, table); }));
               });
    EXPECT_THAT(texts, Each(HasSubstr("BF-080")));
  };
  for (const Body& use : uses) require_refused(use, {2, 1});
  require_refused(uses[2], {0, 2});
  require_refused(uses[3], {0, 2});
}

TEST(ShardedProcesses, MakeOneVariable) {
  testing::asserts("SEM-284");
  for (int odd = 0; odd < 3; ++odd) {
    const auto texts = texts_on_hosts<VariableMismatchError>([&](auto& strategy, sim::Host& host) {
      const Axis axis(host.group().rank() == odd ? 1 : 0);
      strategy.sharded_variable([] { return Tensor<float>::zeros({2, 2}); }, axis, {.name = "t"});
    });
    EXPECT_THAT(texts,
                Each(AllOf(HasSubstr("processes made different variables"),
                           HasSubstr("sharded along axis 0"), HasSubstr("sharded along axis 1"))));
  }
}

// A part of a wrong shape in one process fails the save in all processes, and the file stays.
TEST(ShardedProcesses, FailTogether) {
  testing::asserts("SEM-284");
  const TemporaryFolder folder;
  for (int odd = 0; odd < 3; ++odd) {
    const auto texts = texts_on_hosts<Error>([&](auto& strategy, sim::Host& host) {
      const auto table = strategy.sharded_variable([] { return Tensor<float>::zeros({12}); },
                                                   Axis(0), {.name = "table"});
      Checkpoint checkpoint(strategy);
      checkpoint.add(table).save(folder / "file");
      strategy.run([&](ReplicaContext& replica) {
        Tensor<float>& rows = table.on(replica);
        if (host.group().rank() == odd) rows = Tensor<float>::zeros({7});
      });
      checkpoint.save(folder / "file");
    });
    EXPECT_THAT(texts, Each(HasSubstr("keeps its shape")));
    EXPECT_EQ(TensorFile::read(folder / "file").tensors.at("table").bytes.size(), 48U);
  }
}

// An unreadable file and a file of another shape change no process.
TEST(ShardedProcesses, RefuseFilesTogether) {
  testing::asserts("SEM-283");
  const TemporaryFolder folder;
  for (const bool is_there : {false, true}) {
    if (is_there) {
      TensorFile file;
      file.tensors["table"] = {DType::kFloat32, Shape({3}), std::vector<std::byte>(12)};
      file.write(folder / "file");
    }
    const auto texts = texts_on_hosts<Error>([&](auto& strategy, sim::Host&) {
      const auto table = strategy.sharded_variable([] { return Tensor<float>::full({12}, 5); },
                                                   Axis(0), {.name = "table"});
      Checkpoint checkpoint(strategy);
      checkpoint.add(table);
      try {
        checkpoint.restore(folder / "file");
      } catch (...) {
        EXPECT_EQ(strategy.read(table).to_host(), std::vector<float>(12, 5));
        throw;
      }
    });
    EXPECT_THAT(texts, Each(HasSubstr(is_there ? "float32[3] in the file" : "cannot read")));
  }
}

}  // namespace
}  // namespace belfry::testing
