// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Variables with saved values longer than the components, and messages of restores with missing
// arrays.
#include "belfry/backend/host_backend.h"
#include "belfry/checkpoint.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "run/testing/error_of_test.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace belfry::checkpoint_lengths_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Row = std::vector<double>;

// The part of component `i` of `n`; the first parts may have an extra element.
template <class V>
V part(const V& whole, std::size_t i, std::size_t n) {
  const auto begin = [&](std::size_t k) {
    return static_cast<std::ptrdiff_t>(whole.size() / n * k + std::min(k, whole.size() % n));
  };
  return V(whole.begin() + begin(i), whole.begin() + begin(i + 1));
}

// Joins vectors, of numbers or of nests.
template <class V, bool kAnyLength>
struct Joined {
  static constexpr bool kLengthsMayDiffer = kAnyLength;
  V combine(V folded, const V& next) const {
    folded.insert(folded.end(), next.begin(), next.end());
    return folded;
  }
  V finalize(V folded, int) const { return folded; }
  V on_restore(const V& value, int component, int components) const {
    return part(value, static_cast<std::size_t>(component), static_cast<std::size_t>(components));
  }
};

Row counted(std::size_t length) {
  Row row(length);
  std::iota(row.begin(), row.end(), 0.0);
  return row;
}

// Parts of `whole`, saved on three replicas.
template <class V, bool kAnyLength = true>
TensorFile saved_parts(const V& whole) {
  HostBackend backend(3);
  MirroredStrategy strategy(backend);
  const auto w =
      strategy.replica_local_variable(Joined<V, kAnyLength>{}, part(whole, 0, 3), {.name = "w"});
  strategy.run([&](ReplicaContext& replica) {
    w.on(replica) = part(whole, static_cast<std::size_t>(replica.replica_id()), 3);
  });
  Checkpoint all(strategy);
  return all.add(w).contents();
}

// Restored on `replicas`, from a first value on all replicas.
template <class V>
void expect_parts(const TensorFile& file, const V& whole, const V& first, std::size_t replicas) {
  SCOPED_TRACE(std::to_string(replicas) + " replicas, " + std::to_string(whole.size()));
  HostBackend backend(static_cast<int>(replicas));
  MirroredStrategy strategy(backend);
  const auto w = strategy.replica_local_variable(Joined<V, true>{}, first, {.name = "w"});
  Checkpoint all(strategy);
  all.add(w).restore(file);
  EXPECT_EQ(strategy.read(w), whole);
  for (std::size_t i = 0; i < replicas; ++i) {
    EXPECT_EQ(strategy.local_values(w)[static_cast<int>(i)], part(whole, i, replicas));
  }
}

TEST(CheckpointLengths, OfPartsComeBackOnAnyNumberOfReplicas) {
  testing::asserts("SEM-56");
  for (const std::size_t length : {0U, 1U, 2U, 10U, 12U}) {
    const Row whole = counted(length);
    const TensorFile file = saved_parts(whole);
    for (const std::size_t replicas : {1U, 2U, 3U, 4U, 13U}) {
      expect_parts(file, whole, part(whole, 0, replicas), replicas);
      expect_parts(file, whole, whole, replicas);
      expect_parts(file, whole, Row(), replicas);
    }
  }
  // Equal parts need no constant.
  EXPECT_EQ((saved_parts<Row, false>(counted(12))), saved_parts(counted(12)));
}

struct Layer {
  Row weights;
  std::optional<int> step;
  bool operator==(const Layer&) const = default;
  static auto members(auto& self) { return std::tie(self.weights, self.step); }
};

// Lists of nests: the file has more or fewer elements than the components.
TEST(CheckpointLengths, OfListsOfNestsComeBack) {
  std::vector<Layer> whole;
  for (int i = 0; i < 11; ++i) {
    whole.push_back({counted(static_cast<std::size_t>(i)), std::nullopt});
    if (i % 2 == 0) whole.back().step = i;
  }
  const TensorFile file = saved_parts(whole);
  for (const std::size_t replicas : {1U, 2U, 4U}) {
    expect_parts(file, whole, {{counted(2), 7}}, replicas);
    expect_parts(file, whole, {}, replicas);
    expect_parts(file, whole, std::vector<Layer>(20), replicas);
  }
}

// Joins tensors along their rows of two numbers.
struct JoinedRows {
  static constexpr bool kLengthsMayDiffer = true;
  Tensor<float> combine(const Tensor<float>& folded, const Tensor<float>& next) const {
    std::vector<float> all = folded.to_host();
    const std::vector<float> more = next.to_host();
    all.insert(all.end(), more.begin(), more.end());
    return Tensor<float>::from({static_cast<std::int64_t>(all.size() / 2), 2}, all,
                               folded.placement());
  }
  Tensor<float> finalize(Tensor<float> folded, int) const { return folded; }
  Tensor<float> on_restore(const Tensor<float>& value, int component, int components) const {
    const std::vector<float> rows = value.to_host();
    const std::size_t from = rows.size() / 2 * static_cast<std::size_t>(component) /
                             static_cast<std::size_t>(components) * 2;
    const std::size_t to = rows.size() / 2 * static_cast<std::size_t>(component + 1) /
                           static_cast<std::size_t>(components) * 2;
    const std::vector<float> own(rows.begin() + static_cast<std::ptrdiff_t>(from),
                                 rows.begin() + static_cast<std::ptrdiff_t>(to));
    return Tensor<float>::from({static_cast<std::int64_t>(own.size() / 2), 2}, own,
                               value.placement());
  }
};

TEST(CheckpointLengths, OfTensorsComeBack) {
  const auto rows = [](std::int64_t count, float from) {
    std::vector<float> values(static_cast<std::size_t>(count) * 2);
    std::iota(values.begin(), values.end(), from);
    return Tensor<float>::from({count, 2}, values);
  };
  TensorFile file;
  {
    HostBackend backend(2);
    MirroredStrategy strategy(backend);
    const auto w =
        strategy.replica_local_variable(JoinedRows{}, [&] { return rows(1, 0); }, {.name = "w"});
    strategy.run([&](ReplicaContext& replica) {
      w.on(replica) = replica.replica_id() == 0 ? rows(1, 0) : rows(2, 2);  // 0 1 | 2 3 4 5
    });
    Checkpoint all(strategy);
    file = all.add(w).contents();
  }
  EXPECT_EQ(to_string(file), "w float32[3,2]");
  HostBackend backend(3);
  MirroredStrategy strategy(backend);
  const auto w =
      strategy.replica_local_variable(JoinedRows{}, [&] { return rows(5, 0); }, {.name = "w"});
  Checkpoint all(strategy);
  all.add(w).restore(file);
  for (int i = 0; i < 3; ++i) {
    const auto first = static_cast<float>(2 * i);
    EXPECT_THAT(strategy.local_values(w)[i].to_host(), ElementsAre(first, first + 1));
  }
}

// A union of maps: every component gets the whole.
template <class Key>
struct United {
  using Map = std::map<Key, int>;
  static constexpr bool kLengthsMayDiffer = true;
  Map combine(Map folded, const Map& next) const {
    for (const auto& [key, count] : next) folded[key] = std::max(folded[key], count);
    return folded;
  }
  Map finalize(Map folded, int) const { return folded; }
};

template <class Key>
void expect_united(const std::map<Key, int>& of_first, const std::map<Key, int>& of_others,
                   const std::map<Key, int>& whole, const std::map<Key, int>& first) {
  HostBackend backend(3);
  MirroredStrategy strategy(backend);
  const auto w = strategy.replica_local_variable(United<Key>{}, of_others, {.name = "w"});
  strategy.run([&](ReplicaContext& replica) {
    if (replica.replica_id() == 0) w.on(replica) = of_first;
  });
  Checkpoint all(strategy);
  const TensorFile file = all.add(w).contents();
  HostBackend other(2);
  MirroredStrategy next(other);
  const auto v = next.replica_local_variable(United<Key>{}, first, {.name = "w"});
  Checkpoint restored(next);
  restored.add(v).restore(file);
  EXPECT_THAT(next.local_values(v), Each(whole));
}

TEST(CheckpointLengths, OfMapsComeBackWithTheirKeys) {
  using Names = std::map<std::string, int>;
  using Numbers = std::map<int, int>;
  const Names names{{"a b", 3}, {"c", 2}, {"dd", 1}};
  for (const Names& first : {Names(), Names{{"c", 9}, {"x", 9}}, names}) {
    expect_united<std::string>({{"a b", 3}, {"c", 1}}, {{"c", 2}, {"dd", 1}}, names, first);
  }
  expect_united<int>({{-7, 3}}, {{20, 2}}, {{-7, 3}, {20, 2}}, Numbers{{5, 5}});
}

// Lengths are compared unless the reduction allows differences.
TEST(CheckpointLengths, ThatDifferAreRefusedAtTheRead) {
  testing::asserts("SEM-38");
  EXPECT_THROW((saved_parts<Row, false>(counted(10))), StructureMismatchError);
  for (const std::size_t odd : {0U, 1U, 2U}) {
    HostBackend backend(3);
    MirroredStrategy strategy(backend);
    const auto lengths = [&](ReplicaContext& replica) {
      return Row(static_cast<std::size_t>(replica.replica_id()) == odd ? 2 : 1);
    };
    EXPECT_THROW(strategy.run([&](ReplicaContext& replica) {
      return replica.all_reduce(Joined<Row, false>{}, lengths(replica));
    }),
                 StructureMismatchError);
    EXPECT_THAT(strategy.run([&](ReplicaContext& replica) {
      return replica.all_reduce(Joined<Row, true>{}, lengths(replica));
    }),
                Each(Row(4)));
  }
}

// A save refuses values that every restore would refuse.
TEST(CheckpointLengths, ThatNoRestoreCanGiveBackAreNotSaved) {
  testing::asserts("SEM-55");
  struct JoinedForGood {
    Row combine(Row folded, const Row& next) const {
      folded.insert(folded.end(), next.begin(), next.end());
      return folded;
    }
    Row finalize(Row folded, int) const { return folded; }
  };
  HostBackend backend(3);
  MirroredStrategy strategy(backend);
  const auto w = strategy.replica_local_variable(JoinedForGood{}, Row{1, 2}, {.name = "w"});
  Checkpoint all(strategy);
  all.add(w);
  const ErrorReport report = report_of([&] { all.contents(); });
  EXPECT_EQ(report.code, ErrorCode::kVariableMismatch);
  EXPECT_THAT(to_string(report),
              AllOf(HasSubstr("would be w float64[6]"), HasSubstr("a component is w float64[2]"),
                    HasSubstr("on_restore"), HasSubstr("lengths_test.cpp")));
}

// A restore of mirrored variables `names` from a file with the names `in_file`.
std::string refusal_of(const std::vector<std::string>& names,
                       const std::vector<std::string>& in_file) {
  HostBackend backend(2);
  MirroredStrategy strategy(backend);
  TensorFile file;
  for (const std::string& name : in_file) {
    file.tensors[name] = {DType::kFloat64, Shape{}, std::vector<std::byte>(8)};
  }
  std::vector<MirroredVariable<double>> variables;
  Checkpoint all(strategy);
  for (const std::string& name : names) {
    variables.push_back(strategy.mirrored_variable(0.0, {.name = name}));
    all.add(variables.back());
  }
  return error_of([&] { all.restore(file); });
}

TEST(CheckpointNames, ThatAreMissingAreExplainedByAPrefix) {
  testing::asserts("SEM-56");
  const auto behind = HasSubstr("the file has all missing names behind \"module.\"");
  EXPECT_THAT(refusal_of({"a.w", "a.b"}, {"module.a.b", "module.a.w"}),
              AllOf(behind, HasSubstr("no variable asks for the file's \"module.a.b\", "
                                      "\"module.a.w\"")));
  EXPECT_THAT(refusal_of({"w"}, {"module.w"}), behind);
  // A present name explains nothing.
  EXPECT_THAT(refusal_of({"w", "step"}, {"module.w", "step"}), behind);
  EXPECT_THAT(refusal_of({"w", "b"}, {"module.w", "module.c"}), Not(HasSubstr("behind")));
  EXPECT_THAT(refusal_of({"w", "b"}, {"module.w", "other.b"}), Not(HasSubstr("behind")));
  // The first candidate may be wrong.
  EXPECT_THAT(refusal_of({"w", "b"}, {"a.w", "module.b", "module.w"}), behind);
  EXPECT_THAT(refusal_of({"module.w", "module.b"}, {"w", "b"}),
              HasSubstr("the file has all missing names without \"module.\" in front"));
  EXPECT_THAT(refusal_of({"module.w", "b"}, {"w", "c"}), Not(HasSubstr("in front")));
}

TEST(CheckpointNames, ThatNobodyAskedForAreListed) {
  testing::asserts("SEM-56");
  std::vector<std::string> many;
  for (int i = 10; i < 22; ++i) many.push_back("x" + std::to_string(i));
  const std::string text = refusal_of({"w"}, many);
  EXPECT_THAT(text, AllOf(HasSubstr("BF-050"), HasSubstr("the file has no \"w\""),
                          HasSubstr("\"x10\", \"x11\""), HasSubstr("\"x19\" and 2 more"),
                          Not(HasSubstr("x20"))));
  EXPECT_THAT(refusal_of({"w", "v"}, {"w"}), Not(HasSubstr("no variable asks")));
  EXPECT_EQ(refusal_of({"w"}, {"w", "x"}), "nothing was thrown");
}

}  // namespace
}  // namespace belfry::checkpoint_lengths_test
