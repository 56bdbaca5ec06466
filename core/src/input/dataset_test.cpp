// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/dataset.h"

#include "belfry/backend/host_backend.h"
#include "belfry/error.h"
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::dataset_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Ints = std::vector<int>;

template <class T>
std::vector<T> all(const Dataset<T>& dataset) {
  std::vector<T> elements;
  for (const T& element : dataset) elements.push_back(element);
  return elements;
}

Dataset<int> range(int count) { return Dataset<int>::range(count); }

struct Example {
  float x;
  int label;
  static auto members(auto& self) { return std::tie(self.x, self.label); }
};

struct ImageExample {
  Tensor<float> image;
  Tensor<float> label;
  static auto members(auto& self) { return std::tie(self.image, self.label); }
};

TEST(Dataset, HasTheElementsOfItsSourceInOrder) {
  EXPECT_THAT(all(Dataset<std::string>::from({"a", "b"})), ElementsAre("a", "b"));
  EXPECT_THAT(all(range(3)), ElementsAre(0, 1, 2));
  EXPECT_THAT(all(Dataset<double>::tabulate(3, [](std::int64_t i) { return 0.5 * double(i); })),
              ElementsAre(0, 0.5, 1));
  EXPECT_THAT(all(Dataset<bool>::from({true, false})), ElementsAre(true, false));
  EXPECT_THAT(all(Dataset<int>::from({})), IsEmpty());
}

TEST(Dataset, IsReadAnewByEachLoop) {
  testing::asserts("SEM-92");
  int passes = 0;
  const auto countdown = Dataset<int>::from_generator([&passes] {
    ++passes;
    return [left = 3]() mutable { return left > 0 ? std::optional(left--) : std::nullopt; };
  });
  EXPECT_EQ(passes, 0);
  EXPECT_THAT(all(countdown), ElementsAre(3, 2, 1));
  EXPECT_THAT(all(countdown), ElementsAre(3, 2, 1));
  EXPECT_EQ(passes, 2);
}

TEST(Dataset, ReadsNoFurtherThanItIsAsked) {
  testing::asserts("SEM-92");
  std::vector<int> asked;
  const auto seen = range(10).map([&asked](int i) {
    asked.push_back(i);
    return i;
  });
  EXPECT_THAT(all(seen.batch(2).take(2)), ElementsAre(Ints{0, 1}, Ints{2, 3}));
  EXPECT_THAT(asked, ElementsAre(0, 1, 2, 3));
}

TEST(Dataset, MapsFiltersTakesSkipsZipsAndShards) {
  EXPECT_THAT(all(range(3).map([](int i) { return std::to_string(i); })),
              ElementsAre("0", "1", "2"));
  EXPECT_THAT(all(range(7).filter([](int i) { return i % 3 == 0; })), ElementsAre(0, 3, 6));
  EXPECT_THAT(all(range(7).skip(2).take(3)), ElementsAre(2, 3, 4));
  EXPECT_THAT(all(range(2).skip(5)), IsEmpty());
  EXPECT_THAT(all(range(2).take(0)), IsEmpty());
  EXPECT_THAT(all(range(3).zip(Dataset<char>::from({'a', 'b'}))),
              ElementsAre(std::pair(0, 'a'), std::pair(1, 'b')));
  EXPECT_THAT(all(range(7).shard(3, 1)), ElementsAre(1, 4));
  EXPECT_THAT(all(range(7).shard(1, 0)), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST(Dataset, BatchesNumbersToVectorsAndRecordsToVectorsOfRecords) {
  testing::asserts("SEM-93");
  static_assert(std::is_same_v<BatchOf<int>, Ints>);
  static_assert(std::is_same_v<BatchOf<Ints>, std::vector<Ints>>);
  static_assert(std::is_same_v<BatchOf<Example>, std::vector<Example>>);
  static_assert(std::is_same_v<BatchOf<std::pair<float, int>>,
                               std::pair<std::vector<float>, std::vector<int>>>);
  static_assert(std::is_same_v<BatchOf<std::tuple<Tensor<float>, int>>,
                               std::tuple<Tensor<float>, std::vector<int>>>);
  static_assert(std::is_same_v<BatchOf<std::array<float, 4>>, std::vector<std::array<float, 4>>>);
  static_assert(std::is_same_v<BatchOf<std::map<std::string, Tensor<int>>>,
                               std::map<std::string, Tensor<int>>>);

  EXPECT_THAT(all(range(5).batch(2)), ElementsAre(Ints{0, 1}, Ints{2, 3}, Ints{4}));
  EXPECT_THAT(all(range(5).batch(2, Remainder::kDrop)), ElementsAre(Ints{0, 1}, Ints{2, 3}));
  EXPECT_THAT(all(range(4).batch(4, Remainder::kDrop)), ElementsAre(Ints{0, 1, 2, 3}));
  const auto pairs = all(range(3).zip(range(3).map([](int i) { return 10.0 * i; })).batch(2));
  EXPECT_THAT(pairs, ElementsAre(std::pair(Ints{0, 1}, std::vector<double>{0, 10}),
                                 std::pair(Ints{2}, std::vector<double>{20})));
  EXPECT_THAT(all(Dataset<bool>::from({true, false, true}).batch(2)),
              ElementsAre(std::vector<bool>{true, false}, std::vector<bool>{true}));
}

class DatasetOfTensors : public ::testing::Test {
 protected:
  Tensor<float> tensor(Shape shape, std::vector<float> values) {
    return Tensor<float>::from(std::move(shape), values, Placement{&backend_, 1});
  }

  HostBackend backend_{2};
};

TEST_F(DatasetOfTensors, StacksThemAlongANewFirstAxis) {
  testing::asserts("SEM-93");
  const auto dataset =
      Dataset<Tensor<float>>::from({tensor({2}, {1, 2}), tensor({2}, {3, 4}), tensor({2}, {5, 6})});
  const auto batches = all(dataset.batch(2));
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0].shape(), (Shape{2, 2}));
  EXPECT_THAT(batches[0].to_host(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(batches[0].placement().device, 1);
  EXPECT_EQ(batches[1].shape(), (Shape{1, 2}));
  const auto regrouped = all(dataset.batch(2).rebatch({1, 2}));
  ASSERT_EQ(regrouped.size(), 2U);
  EXPECT_EQ(regrouped[0].shape(), (Shape{1, 2}));
  EXPECT_THAT(regrouped[1].to_host(), ElementsAre(3, 4, 5, 6));
  const auto scalars =
      all(Dataset<Tensor<float>>::from({tensor({}, {1}), tensor({}, {2})}).batch(9));
  EXPECT_EQ(scalars[0].shape(), (Shape{2}));
}

TEST_F(DatasetOfTensors, StacksTheTensorsOfRecords) {
  static_assert(std::is_same_v<BatchOf<ImageExample>, ImageExample>);
  const auto dataset = Dataset<ImageExample>::from({{tensor({2}, {1, 2}), tensor({}, {7})},
                                                    {tensor({2}, {3, 4}), tensor({}, {8})},
                                                    {tensor({2}, {5, 6}), tensor({}, {9})}});
  const auto batches = all(dataset.batch(2).rebatch({3}));
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].image.shape(), (Shape{3, 2}));
  EXPECT_THAT(batches[0].label.to_host(), ElementsAre(7, 8, 9));
}

TEST_F(DatasetOfTensors, RefusesShapesThatDoNotFitTogether) {
  testing::asserts("SEM-93");
  const auto dataset = Dataset<Tensor<float>>::from({tensor({2}, {1, 2}), tensor({3}, {3, 4, 5})});
  const ErrorReport report =
      report_of([&] { all(dataset.batch(2, Remainder::kKeep, {"train.cc", 9})); });
  EXPECT_EQ(report.code, ErrorCode::kShape);
  EXPECT_EQ(report.summary, "element 1 of a batch has shape [3], those before it [2]");
  EXPECT_EQ(to_string(report.site), "train.cc:9");
  EXPECT_THROW(all(dataset.batch(1).rebatch({2})), InvalidArgumentError);
  EXPECT_THROW(all(Dataset<Tensor<float>>::from({tensor({}, {1})}).rebatch({2})),
               InvalidArgumentError);
  EXPECT_THROW(all(Dataset<Tensor<float>>::from({Tensor<float>()}).batch(2)), InvalidArgumentError);
  using Named = std::map<std::string, Tensor<float>>;
  EXPECT_THROW(
      all(Dataset<Named>::from({{{"a", tensor({}, {1})}}, {{"b", tensor({}, {1})}}}).batch(2)),
      StructureMismatchError);
}

TEST(Dataset, RefusesBatchesWhosePartsDiffer) {
  testing::asserts("SEM-93");
  const auto uneven = Dataset<std::pair<Ints, Ints>>::from({std::pair(Ints{1, 2}, Ints{1, 2, 3})});
  const ErrorReport report = report_of([&] { all(uneven.rebatch({1})); });
  EXPECT_EQ(report.code, ErrorCode::kStructure);
  EXPECT_EQ(report.summary, "parts of a batch have 2 and 3 rows");
}

TEST(Dataset, ShufflesTheSameWayEachTimeAndAnotherWayInEachRepetition) {
  testing::asserts("SEM-94");
  const auto shuffled = range(100).shuffle(7);
  const Ints first = all(shuffled);
  EXPECT_EQ(all(shuffled), first);
  EXPECT_NE(all(range(100).shuffle(8)), first);
  Ints sorted = first;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, all(range(100)));
  EXPECT_NE(first, sorted);

  const Ints twice = all(shuffled.repeat(2));
  ASSERT_EQ(twice.size(), 200U);
  EXPECT_EQ(Ints(twice.begin(), twice.begin() + 100), first);
  const Ints second(twice.begin() + 100, twice.end());
  EXPECT_NE(second, first);
  EXPECT_EQ(all(shuffled.epoch(1)), second);
  sorted = second;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, all(range(100)));
}

TEST(Dataset, ShufflesToEachOrderEquallyOften) {
  std::map<Ints, int> counts;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) counts[all(range(3).shuffle(seed))] += 1;
  ASSERT_EQ(counts.size(), 6U);
  // Binomial with 6000 draws of probability 1/6: 1000, and 5 standard deviations are 145.
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 145);
}

TEST(Dataset, HasTheSameShuffleOnEveryMachine) {
  testing::asserts("SEM-94");
  // Computed by a different program, which draws with Philox and shuffles after Fisher and Yates.
  EXPECT_THAT(all(range(8).shuffle(1)), ElementsAre(0, 5, 3, 6, 7, 2, 4, 1));
  EXPECT_THAT(all(range(8).shuffle(1).epoch(1)), ElementsAre(2, 4, 7, 5, 1, 6, 3, 0));
}

TEST(Dataset, RepeatsACountOfTimesOrWithoutEnd) {
  testing::asserts("SEM-94");
  EXPECT_THAT(all(range(2).repeat(3)), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(all(range(2).repeat(0)), IsEmpty());
  EXPECT_THAT(all(range(2).repeat().take(5)), ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(all(range(0).repeat()), IsEmpty());
  EXPECT_TRUE(range(2).repeat().is_endless());
  EXPECT_TRUE(range(2).repeat().map([](int i) { return i; }).batch(3).is_endless());
  EXPECT_FALSE(range(2).repeat().take(5).is_endless());
  EXPECT_FALSE(range(2).repeat(3).is_endless());
  EXPECT_TRUE(range(2).repeat().repeat(2).is_endless());
  EXPECT_FALSE(range(2).repeat().zip(range(3)).is_endless());
  const ErrorReport report = report_of([] { range(2).repeat().shuffle(1, {"train.cc", 5}); });
  EXPECT_THAT(report.summary, HasSubstr("shuffle of a dataset without end"));
  EXPECT_EQ(to_string(report.site), "train.cc:5");
}

TEST(Dataset, KnowsTheSizeOfItsBatchesWhereBatchSaidSo) {
  EXPECT_EQ(range(9).batch(4).batch_size(), 4);
  EXPECT_EQ(range(9).batch(4).shuffle(1).repeat(2).take(3).batch_size(), 4);
  EXPECT_EQ(range(9).batch(4).map([](const Ints& batch) { return batch; }).batch_size(),
            std::nullopt);
  EXPECT_EQ(Dataset<Ints>::from({{1, 2}}).batch_size(), std::nullopt);
  EXPECT_EQ(Dataset<Ints>::from({{1, 2}}).with_batch_size(2).batch_size(), 2);
}

TEST(Dataset, TellsHowItIsMade) {
  testing::asserts("SEM-185");
  const auto words = [](const auto& dataset) { return dataset.recipe().words(); };
  EXPECT_EQ(words(range(9).shuffle(7).epoch(2).repeat(3).batch(4)),
            "range(9).shuffle(7).epoch(2).repeat(3).batch(4)");
  EXPECT_EQ(words(range(9).take(5).skip(1).shard(3, 2).batch(2, Remainder::kDrop).rebatch({3, 1})),
            "range(9).take(5).skip(1).shard(3, 2).batch(2, drop).rebatch(3, 1)");
  EXPECT_EQ(words(range(9).repeat().batch(2).with_batch_size(2)),
            "range(9).repeat().batch(2).with_batch_size(2)");
  EXPECT_EQ(words(range(2).zip(range(3).skip(1))), "range(2).zip(range(3).skip(1))");
  const auto same = [](int i) { return i; };
  EXPECT_EQ(words(range(2).map(same).filter([](int) { return true; })),
            "range(2).map(unseen).filter(unseen)");
  EXPECT_EQ(words(Dataset<int>::tabulate(4, same)), "tabulate(4, unseen)");
  EXPECT_EQ(words(range(2).map(same).named("a.bin").batch(2)), "\"a.bin\".batch(2)");
  EXPECT_TRUE(range(2).batch(1).recipe().is_seen());
  EXPECT_FALSE(range(2).map(same).batch(1).recipe().is_seen());
  EXPECT_TRUE(range(2).zip(range(3).skip(1)).recipe().skips());
  EXPECT_FALSE(range(2).skip(0).recipe().skips());
}

TEST(Dataset, TellsItsElementsByASample) {
  testing::asserts("SEM-185");
  const auto digest = [](const auto& elements) {
    return Dataset<std::decay_t<decltype(elements.front())>>::from(elements).recipe().digest();
  };
  const std::vector<std::string> files{"/a/x.csv", "y.csv"};
  EXPECT_EQ(digest(files), digest(std::vector<std::string>{"/b/c/x.csv", "/a/y.csv"}));
  EXPECT_NE(digest(files), digest(std::vector<std::string>{"/a/x.csv", "z.csv"}));
  EXPECT_EQ(digest(Ints{1, 2, 3}), digest(Ints{1, 2, 3}));
  for (std::size_t place = 0; place < 3; ++place) {
    Ints other{1, 2, 3};
    other[place] = 9;
    EXPECT_NE(digest(Ints{1, 2, 3}), digest(other)) << place;
  }
  EXPECT_NE(digest(std::vector<std::pair<int, std::string>>{{1, "a"}}),
            digest(std::vector<std::pair<int, std::string>>{{1, "b"}}));
  EXPECT_FALSE(Dataset<Tensor<float>>::from({}).recipe().is_seen());
}

// The middle of a long text is left out, and counts.
TEST(Dataset, TellsLongRecipesInShort) {
  const auto many = [](int seed) {
    Dataset<int> data = range(9);
    for (int i = 0; i < 100; ++i)
      data = data.shuffle(static_cast<std::uint64_t>(i == 50 ? seed : 3));
    return data.recipe();
  };
  EXPECT_LT(many(1).words().size(), 400U);
  EXPECT_EQ(many(1).words(), many(2).words());
  EXPECT_NE(many(1).digest(), many(2).digest());
}

TEST(Dataset, RefusesImpossibleNumbers) {
  const std::function<void()> mistakes[] = {[] { range(3).batch(0); },
                                            [] { range(3).take(-1); },
                                            [] { range(3).skip(-1); },
                                            [] { range(3).repeat(-1); },
                                            [] { range(3).shard(0, 0); },
                                            [] { range(3).shard(2, 2); },
                                            [] { range(3).shard(2, -1); },
                                            [] { range(-1); },
                                            [] { range(3).batch(2).rebatch({}); },
                                            [] { range(3).batch(2).rebatch({0, 0}); },
                                            [] { range(3).batch(2).rebatch({1, -1}); },
                                            [] { range(3).batch(2).with_batch_size(0); }};
  for (const auto& mistake : mistakes) EXPECT_THROW(mistake(), InvalidArgumentError);
}

using Columns = std::map<std::string, Ints>;

void expect_keys_refused(const std::vector<Columns>& batches) {
  const auto rebatched =
      Dataset<Columns>::from(batches).rebatch({4}, Remainder::kKeep, {"train.cc", 9});
  const ErrorReport report = report_of([&] { all(rebatched); });
  EXPECT_EQ(report.code, ErrorCode::kStructure);
  EXPECT_EQ(report.summary, "rows under other keys follow those of a map in one batch");
  EXPECT_EQ(to_string(report.site), "train.cc:9");
}

TEST(Dataset, RefusesRowsUnderOtherKeys) {
  testing::asserts("SEM-93");
  expect_keys_refused({{{"a", {1, 2}}, {"b", {3, 4}}}, {{"a", {5, 6}}}});
  expect_keys_refused({{{"a", {5, 6}}}, {{"a", {1, 2}}, {"b", {3, 4}}}});
  expect_keys_refused({{{"a", {1, 2}}, {"b", {3, 4}}}, {{"b", {5, 6}}, {"c", {7, 8}}}});
  const auto same =
      Dataset<Columns>::from({{{"a", {1, 2}}, {"b", {3, 4}}}, {{"a", {5, 6}}, {"b", {7, 8}}}});
  EXPECT_THAT(all(same.rebatch({3})), ElementsAre(Columns{{"a", {1, 2, 5}}, {"b", {3, 4, 7}}},
                                                  Columns{{"a", {6}}, {"b", {8}}}));
}

// An element with more than its rows.
struct Page {
  Ints rows;
  Columns columns;
  std::string title;
  static auto members(auto& self) { return std::tie(self.rows, self.columns); }
};

TEST(Dataset, RebatchKeepsAllThatBatchesHave) {
  const auto pages =
      all(Dataset<Page>::from({{{1, 2, 3}, {{"a", {4, 5, 6}}}, "first"}}).rebatch({2}));
  ASSERT_EQ(pages.size(), 2U);
  EXPECT_EQ(pages[0].rows, (Ints{1, 2}));
  EXPECT_EQ(pages[0].columns, (Columns{{"a", {4, 5}}}));
  EXPECT_EQ(pages[0].title, "first");
  EXPECT_EQ(pages[1].rows, Ints{3});
  EXPECT_EQ(pages[1].columns, (Columns{{"a", {6}}}));
  EXPECT_EQ(pages[1].title, "first");
  using Arrays = std::array<Columns, 2>;
  const Arrays both{Columns{{"a", {1, 2}}}, Columns{{"b", {3, 4}}}};
  EXPECT_THAT(all(Dataset<Arrays>::from({both}).rebatch({1})),
              ElementsAre(Arrays{Columns{{"a", {1}}}, Columns{{"b", {3}}}},
                          Arrays{Columns{{"a", {2}}}, Columns{{"b", {4}}}}));
}

}  // namespace
}  // namespace belfry::dataset_test
