// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Conformance rows about gather and all_gather. GAT-09 and GAT-15, about sparse values, must not
// compile: see core/src/compile_fail.
#include "belfry/vjp.h"
#include "suites/strategy_fixture.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing::conformance_gather {
namespace {

using Ints = std::vector<int>;
using Reals = std::vector<float>;

constexpr int kMost = 4;

Tensor<float> ones(Shape shape) { return Tensor<float>::full(std::move(shape), 1); }

Reals repeated(const Reals& block, int times) {
  Reals out;
  for (int i = 0; i < times; ++i) out.insert(out.end(), block.begin(), block.end());
  return out;
}

/// gather of a tensor for each replica, made by `own(replica)`, compared with all_gather.
template <class F>
Tensor<float> gathered(StrategyFixture& fixture, const F& own, Axis axis) {
  const Tensor<float> all = fixture.cross.gather(per_replica(fixture, own), axis);
  const auto everywhere = fixture.strategy.run(
      [&](ReplicaContext& r) { return r.all_gather(own(r.replica_id()), axis); });
  for (int id = 0; id < fixture.size(); ++id) {
    EXPECT_EQ(everywhere[id].placement(), fixture.placement(id));
    EXPECT_EQ(everywhere[id].shape(), all.shape());
    EXPECT_EQ(everywhere[id].to_host(), all.to_host());
  }
  return all;
}

TEST(Conformance, GAT_01_Q01_ListsOfEqualLength) {
  for (int n = 1; n <= kMost; ++n) {
    StrategyFixture fixture(n);
    const auto own = [](int) { return Ints{1, 2, 3}; };
    Ints expected;
    for (int i = 0; i < n; ++i) expected.insert(expected.end(), {1, 2, 3});
    EXPECT_EQ(fixture.cross.gather(per_replica(fixture, own), Axis(0)), expected);
    const auto vector = [](int) { return Tensor<float>::from({3}, Reals{1, 2, 3}); };
    EXPECT_EQ(gathered(fixture, vector, Axis(0)).to_host(), repeated({1, 2, 3}, n));
  }
}

TEST(Conformance, GAT_10_Q02_Q03_Q09_Q10_TensorsOfEqualShape) {
  for (int n = 1; n <= kMost; ++n) {
    StrategyFixture fixture(n);
    const auto row = [](int) { return Tensor<float>::from({1, 3}, Reals{1, 2, 3}); };
    const auto rows = gathered(fixture, row, Axis(0));
    EXPECT_EQ(rows.shape(), Shape({n, 3}));
    EXPECT_EQ(rows.to_host(), repeated({1, 2, 3}, n));
    EXPECT_EQ(gathered(fixture, row, Axis(1)).shape(), Shape({1, std::int64_t{3} * n}));

    const auto cube = [](int) { return Tensor<float>::from({1, 2, 2}, Reals{1, 2, 1, 2}); };
    EXPECT_EQ(gathered(fixture, cube, Axis(0)).shape(), Shape({n, 2, 2}));
    const auto middle = gathered(fixture, cube, Axis(1));
    EXPECT_EQ(middle.shape(), Shape({1, std::int64_t{2} * n, 2}));
    EXPECT_EQ(middle.to_host(), repeated({1, 2}, 2 * n));
    const auto last = gathered(fixture, cube, Axis(2));
    EXPECT_EQ(last.shape(), Shape({1, 2, std::int64_t{2} * n}));
    EXPECT_EQ(last.to_host(), repeated({1, 2}, 2 * n));
  }
}

TEST(Conformance, GAT_05_GAT_11_Q04_DifferentLengthsOfAxis0) {
  for (int n = 1; n <= kMost; ++n) {
    StrategyFixture fixture(n);
    const auto all = gathered(fixture, [](int id) { return ones({id + 1, 1}); }, Axis(0));
    EXPECT_EQ(all.shape(), Shape({n * (n + 1) / 2, 1}));
    EXPECT_EQ(all.to_host(), repeated({1}, n * (n + 1) / 2));
  }
}

TEST(Conformance, GAT_06_GAT_11_Q05_DifferentLengthsOfAxis1) {
  for (int n = 1; n <= kMost; ++n) {
    StrategyFixture fixture(n);
    const auto all = gathered(fixture, [](int id) { return ones({1, id + 1}); }, Axis(1));
    EXPECT_EQ(all.shape(), Shape({1, n * (n + 1) / 2}));
    EXPECT_EQ(all.to_host(), repeated({1}, n * (n + 1) / 2));
  }
}

// Expects an error from `call` with a line for each replica, which names its shape, shapes[id].
template <class F>
void expect_shapes_named(const F& call, CallSite site, const std::vector<std::string>& shapes) {
  try {
    call();
    FAIL() << "no error";
  } catch (const StructureMismatchError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kStructure);
    for (std::size_t id = 0; id < shapes.size(); ++id) {
      const std::string line = "\n  replica " + std::to_string(id) + "  " + to_string(site) +
                               "  brings shape " + shapes[id] + "\n";
      EXPECT_NE(std::string(error.what()).find(line), std::string::npos) << error.what();
    }
  }
}

// Expects that gather and all_gather refuse tensors of ones with the extents `extents(id)`, which
// messages call `shapes[id]`.
template <class F>
void expect_no_gather(const F& extents, const std::vector<std::string>& shapes) {
  StrategyFixture fixture(static_cast<int>(shapes.size()));
  const auto own = [&](int id) { return ones(Shape(extents(id))); };
  const CallSite site = CallSite::here();
  const auto values = per_replica(fixture, own);
  expect_shapes_named([&] { fixture.cross.gather(values, Axis(0), site); }, site, shapes);
  expect_shapes_named(
      [&] {
        fixture.strategy.run(
            [&](ReplicaContext& r) { r.all_gather(own(r.replica_id()), Axis(0), site); });
      },
      site, shapes);
}

using Extents = std::vector<std::int64_t>;

TEST(Conformance, GAT_07_GAT_14_Q06_DifferentLengthsOfAnotherAxis) {
  const auto extents = [](int id) { return Extents{1, id + 1}; };
  expect_no_gather(extents, {"[1,1]", "[1,2]"});
  expect_no_gather(extents, {"[1,1]", "[1,2]", "[1,3]"});
  expect_no_gather(extents, {"[1,1]", "[1,2]", "[1,3]", "[1,4]"});
}

TEST(Conformance, GAT_08_GAT_14_Q08_DifferentRanks) {
  const auto extents = [](int id) { return Extents(static_cast<std::size_t>(id) + 1, 1); };
  expect_no_gather(extents, {"[1]", "[1,1]"});
  expect_no_gather(extents, {"[1]", "[1,1]", "[1,1,1]"});
  expect_no_gather(extents, {"[1]", "[1,1]", "[1,1,1]", "[1,1,1,1]"});
}

TEST(Conformance, GAT_13_Nests) {
  for (int n = 1; n <= kMost; ++n) {
    StrategyFixture fixture(n);
    const auto all = fixture.strategy.run(
        [](ReplicaContext& r) { return r.all_gather(std::vector<Reals>{{1, 2, 3}, {1, 2, 3}}); });
    for (const auto& own : all) {
      EXPECT_EQ(own, (std::vector<Reals>{repeated({1, 2, 3}, n), repeated({1, 2, 3}, n)}));
    }
  }
}

TEST(Conformance, GAT_16_GradientOfAllGather) {
  for (int n = 1; n <= kMost; ++n) {
    StrategyFixture fixture(n);
    // y = all_gather(x) * (id + 1): the cotangent of the gathered value is id + 1.
    const auto gradients = fixture.strategy.run([&](ReplicaContext& r) {
      const auto x = Tensor<float>::from({2, 1}, Reals{3, 5});
      const auto cotangent = Tensor<float>::full({2, n}, static_cast<float>(r.replica_id() + 1));
      return all_gather_vjp(r, x, cotangent, Axis(1));
    });
    const auto g = static_cast<float>(n * (n + 1)) / 2;
    for (int id = 0; id < n; ++id) {
      EXPECT_EQ(gradients[id].shape(), Shape({2, 1}));
      EXPECT_EQ(gradients[id].to_host(), Reals({g, g}));
    }
  }
}

TEST(Conformance, GAT_17_GradientOfANest) {
  for (int n = 1; n <= kMost; ++n) {
    StrategyFixture fixture(n);
    const auto gradients = fixture.strategy.run([&](ReplicaContext& r) {
      const auto x = Tensor<float>::from({2, 1}, Reals{3, 5});
      const auto cotangent = Tensor<float>::full({2, n}, static_cast<float>(r.replica_id() + 1));
      return all_gather_vjp(r, std::pair{x, x}, std::pair{cotangent, cotangent}, Axis(1));
    });
    const auto g = static_cast<float>(n * (n + 1)) / 2;
    for (int id = 0; id < n; ++id) {
      EXPECT_EQ(gradients[id].first.to_host(), Reals({g, g}));
      EXPECT_EQ(gradients[id].second.to_host(), Reals({g, g}));
    }
  }
}

TEST(Conformance, GAT_19_Q11_EachContextHasItsOwn) {
  StrategyFixture fixture(2);
  const auto lists = per_replica(fixture, [](int id) { return Ints{id}; });
  // all_gather outside a replica does not compile, nor does gather through a replica's context. A
  // captured context is refused.
  EXPECT_EQ(
      code_of([&] { fixture.strategy.run([&](ReplicaContext&) { fixture.cross.gather(lists); }); }),
      ErrorCode::kWrongContext);
}

TEST(Conformance, GAT_20_MapsOfLists) {
  StrategyFixture fixture(2);
  using Value = std::pair<Ints, Tensor<float>>;
  const auto own = [](int id) {
    return id == 0 ? Value({0}, Tensor<float>::from({1, 2}, Reals{0, 1}))
                   : Value({1}, Tensor<float>::from({2, 2}, Reals{2, 3, 4, 5}));
  };
  const Value all = fixture.cross.gather(per_replica(fixture, own), Axis(0));
  EXPECT_EQ(all.first, Ints({0, 1}));
  EXPECT_EQ(all.second.shape(), Shape({3, 2}));
  EXPECT_EQ(all.second.to_host(), Reals({0, 1, 2, 3, 4, 5}));
}

TEST(Conformance, GAT_20_MapsOfListsOnTheHost) {
  StrategyFixture fixture(2);
  using Value = std::map<std::string, Ints>;
  const auto own = [](int id) {
    return id == 0 ? Value{{"a", {0}}, {"b", {0, 1}}} : Value{{"a", {1}}, {"b", {2, 3, 4, 5}}};
  };
  EXPECT_EQ(fixture.cross.gather(per_replica(fixture, own)),
            (Value{{"a", {0, 1}}, {"b", {0, 1, 2, 3, 4, 5}}}));
}

}  // namespace
}  // namespace belfry::testing::conformance_gather
