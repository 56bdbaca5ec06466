// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_backend.h"
#include "belfry/tensor_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace belfry::tensor_elementwise_test {
namespace {

using ::testing::ElementsAre;
using Bytes = std::vector<std::uint8_t>;

class TensorElementwise : public ::testing::Test {
 protected:
  template <class T = float>
  Tensor<T> make(Shape shape, std::vector<T> values) {
    return Tensor<T>::from(std::move(shape), values, Placement{&backend_, 0});
  }
  HostBackend backend_{2};
};

TEST_F(TensorElementwise, EqualShapesMeetElementByElement) {
  const auto a = make({2, 2}, {1, 2, 3, 8});
  const auto b = make({2, 2}, {4, -2, 0.5, 2});
  EXPECT_THAT((a + b).to_host(), ElementsAre(5, 0, 3.5, 10));
  EXPECT_THAT((a - b).to_host(), ElementsAre(-3, 4, 2.5, 6));
  EXPECT_THAT((a * b).to_host(), ElementsAre(4, -4, 1.5, 16));
  EXPECT_THAT((a / b).to_host(), ElementsAre(0.25, -1, 6, 4));
  EXPECT_THAT(minimum(a, b).to_host(), ElementsAre(1, -2, 0.5, 2));
  EXPECT_THAT(maximum(a, b).to_host(), ElementsAre(4, 2, 3, 8));
  EXPECT_EQ((a + b).shape(), (Shape{2, 2}));
}

TEST_F(TensorElementwise, RowsColumnsAndSingleElementsMeetMatrices) {
  const auto a = make({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_THAT((a + make({3}, {10, 20, 30})).to_host(), ElementsAre(10, 21, 32, 13, 24, 35));
  EXPECT_THAT((a + make({1, 3}, {10, 20, 30})).to_host(), ElementsAre(10, 21, 32, 13, 24, 35));
  EXPECT_THAT((a + make({2, 1}, {100, 200})).to_host(), ElementsAre(100, 101, 102, 203, 204, 205));
  EXPECT_THAT((a + as_column(make({2}, {100, 200}))).to_host(),
              ElementsAre(100, 101, 102, 203, 204, 205));
  EXPECT_THAT((a - make({}, {1})).to_host(), ElementsAre(-1, 0, 1, 2, 3, 4));
  EXPECT_THAT((a - make({1, 1, 1}, {1})).to_host(), ElementsAre(-1, 0, 1, 2, 3, 4));
  EXPECT_EQ((a - make({1, 1, 1}, {1})).shape(), (Shape{2, 3}));
}

// The line of the error of `body`; 0 without an error, or for an error of a different file.
template <class F>
int line_of_error(const F& body) {
  try {
    body();
  } catch (const Error& error) {
    const CallSite site = error.report().site;
    return std::string_view(site.file) == CallSite::here().file ? site.line : 0;
  }
  return 0;
}
#define EXPECT_KNOWS_THE_LINE(expression) \
  EXPECT_EQ(line_of_error([&] { return expression; }), __LINE__)

TEST_F(TensorElementwise, OperatorsKnowTheLine) {
  const auto a = make({2}, {1, 2});
  const auto b = make({3}, {1, 2, 3});
  const Tensor<float> none;
  const Float16 half(0.5F);
  EXPECT_KNOWS_THE_LINE(a + b);
  EXPECT_KNOWS_THE_LINE(a - b);
  EXPECT_KNOWS_THE_LINE(a * b);
  EXPECT_KNOWS_THE_LINE(a / b);
  EXPECT_KNOWS_THE_LINE(none + 1.5F);
  EXPECT_KNOWS_THE_LINE(none - 1);
  EXPECT_KNOWS_THE_LINE(none * 2.0);
  EXPECT_KNOWS_THE_LINE(none / half);
  EXPECT_KNOWS_THE_LINE(1.5F + none);
  EXPECT_KNOWS_THE_LINE(1 - none);
  EXPECT_KNOWS_THE_LINE(2.0 * none);
  EXPECT_KNOWS_THE_LINE(half / none);
  EXPECT_KNOWS_THE_LINE((2 * a) / (1 + b));
}

TEST_F(TensorElementwise, OperatorsConvertNumbers) {
  const Float16 half(0.5F);
  const auto a = make({2}, {1, 2});
  EXPECT_THAT((a * half).to_host(), ElementsAre(0.5F, 1));
  EXPECT_THAT((half - a).to_host(), ElementsAre(-0.5F, -1.5F));
  const auto halves = make<Float16>({1}, {half});
  EXPECT_EQ(static_cast<float>((halves + half).to_host()[0]), 1.0F);
}

TEST_F(TensorElementwise, AThirdAxisFollowsTheSameRules) {
  const auto a = make({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_THAT((a + make({2}, {10, 20})).to_host(), ElementsAre(10, 21, 12, 23, 14, 25, 16, 27));
  EXPECT_THAT((a + make({2, 2, 1}, {10, 20, 30, 40})).to_host(),
              ElementsAre(10, 11, 22, 23, 34, 35, 46, 47));
}

TEST_F(TensorElementwise, NumbersMeetEveryElementFromBothSides) {
  const auto a = make({3}, {1, 2, 4});
  EXPECT_THAT((a + 1).to_host(), ElementsAre(2, 3, 5));
  EXPECT_THAT((1 + a).to_host(), ElementsAre(2, 3, 5));
  EXPECT_THAT((a - 1).to_host(), ElementsAre(0, 1, 3));
  EXPECT_THAT((1 - a).to_host(), ElementsAre(0, -1, -3));
  EXPECT_THAT((a * 3).to_host(), ElementsAre(3, 6, 12));
  EXPECT_THAT((3 * a).to_host(), ElementsAre(3, 6, 12));
  EXPECT_THAT((a / 2).to_host(), ElementsAre(0.5, 1, 2));
  EXPECT_THAT((2 / a).to_host(), ElementsAre(2, 1, 0.5));
  EXPECT_THAT(minimum(a, 2).to_host(), ElementsAre(1, 2, 2));
  EXPECT_THAT(maximum(a, 2).to_host(), ElementsAre(2, 2, 4));
}

TEST_F(TensorElementwise, DividingByANumberIsOneTrueDivision) {
  // 5 / 49 and 5 * (1 / 49) differ in the last bit of binary32.
  const auto quotient = make({1}, {5}) / 49;
  EXPECT_EQ(quotient.item(), 5.0F / 49.0F);
  EXPECT_NE(quotient.item(), 5.0F * (1.0F / 49.0F));
}

TEST_F(TensorElementwise, IntegerNumbersStayExact) {
  const std::int64_t large = (std::int64_t{1} << 53) + 1;  // No double holds it.
  const auto a = make<std::int64_t>({2}, {0, 1});
  EXPECT_THAT((a + large).to_host(), ElementsAre(large, large + 1));
  EXPECT_THAT((a - large).to_host(), ElementsAre(-large, 1 - large));
  EXPECT_THAT((large - a).to_host(), ElementsAre(large, large - 1));
  EXPECT_THAT(equal(a + large, large).to_host(), ElementsAre(1, 0));
}

TEST_F(TensorElementwise, FunctionsOfOneTensor) {
  const auto a = make({4}, {-4, 0, 0.25, 9});
  EXPECT_THAT((-a).to_host(), ElementsAre(4, 0, -0.25, -9));
  EXPECT_THAT(abs(a).to_host(), ElementsAre(4, 0, 0.25, 9));
  EXPECT_THAT(square(a).to_host(), ElementsAre(16, 0, 0.0625, 81));
  EXPECT_THAT(relu(a).to_host(), ElementsAre(0, 0, 0.25, 9));
  EXPECT_THAT(step(a).to_host(), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(sqrt(abs(a)).to_host(), ElementsAre(2, 0, 0.5, 3));
  EXPECT_THAT(reciprocal(a + 0.25F).to_host()[2], 2.0F);
  EXPECT_EQ(exp(make({1}, {0})).item(), 1.0F);
  EXPECT_EQ(log(make({1}, {1})).item(), 0.0F);
  EXPECT_EQ(tanh(make({1}, {0})).item(), 0.0F);
}

TEST_F(TensorElementwise, ComparisonsGiveBool) {
  const auto a = make({3}, {1, 2, 3});
  const auto b = make({3}, {2, 2, 2});
  EXPECT_EQ(equal(a, b).to_host(), (Bytes{0, 1, 0}));
  EXPECT_EQ(not_equal(a, b).to_host(), (Bytes{1, 0, 1}));
  EXPECT_EQ(less(a, b).to_host(), (Bytes{1, 0, 0}));
  EXPECT_EQ(less_equal(a, b).to_host(), (Bytes{1, 1, 0}));
  EXPECT_EQ(greater(a, 2).to_host(), (Bytes{0, 0, 1}));
  EXPECT_EQ(greater_equal(a, 2).to_host(), (Bytes{0, 1, 1}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(less(make({1}, {nan}), 1).to_host(), (Bytes{0}));
  EXPECT_EQ(not_equal(make({1}, {nan}), nan).to_host(), (Bytes{1}));
}

TEST_F(TensorElementwise, SelectTakesOneOrTheOther) {
  const auto a = make({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(select(greater(a, 2), a, -a).to_host(), ElementsAre(-1, -2, 3, 4));
  const auto flags = greater(a, 1);
  EXPECT_EQ(minimum(flags, less(a, 4)).to_host(), (Bytes{0, 1, 1, 0}));         // and
  EXPECT_EQ(maximum(equal(a, 1), equal(a, 4)).to_host(), (Bytes{1, 0, 0, 1}));  // or
}

TEST_F(TensorElementwise, CastRoundsTowardsZeroAndSaturates) {
  const auto a = make({4}, {-1.75, 2.5, 300, -5000});
  EXPECT_THAT(cast<std::int8_t>(a).to_host(), ElementsAre(-1, 2, 127, -128));
  EXPECT_EQ(cast<bool>(a - 2.5F).to_host(), (Bytes{1, 0, 1, 1}));
  EXPECT_THAT(cast<double>(cast<std::int16_t>(a)).to_host(), ElementsAre(-1, 2, 300, -5000));
}

TEST_F(TensorElementwise, RandomNumbersDependOnSeedAndCounterAlone) {
  const Placement first{&backend_, 0};
  const Placement second{&backend_, 1};
  const auto all = random_uniform({100}, 7, 0, first).to_host();
  for (float u : all) {
    EXPECT_GE(u, 0);
    EXPECT_LT(u, 1);
  }
  const auto rest = random_uniform({60}, 7, 40, second).to_host();
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), all.begin() + 40));
  EXPECT_NE(all, random_uniform({100}, 8, 0, first).to_host());
  EXPECT_EQ(random_normal({10, 5}, 7, 0, first).shape(), (Shape{10, 5}));
}

TEST_F(TensorElementwise, UpdatesAreNotSeenByCopies) {
  auto x = make({2}, {10, 20});
  const auto before = x;
  const auto g = make({2}, {4, 8});
  subtract_scaled(x, 0.5F, g);
  EXPECT_THAT(x.to_host(), ElementsAre(8, 16));
  add_scaled(x, 2, g);
  EXPECT_THAT(x.to_host(), ElementsAre(16, 32));
  add_to(x, g);
  subtract_from(x, make({}, {1}));
  scale(x, 10);
  EXPECT_THAT(x.to_host(), ElementsAre(190, 390));
  EXPECT_THAT(before.to_host(), ElementsAre(10, 20));
  subtract_scaled(x, 1, x);
  EXPECT_THAT(x.to_host(), ElementsAre(0, 0));
}

TEST_F(TensorElementwise, UpdatesOfUnsharedTensorsStayInPlace) {
  auto x = make({2}, {10, 20});
  const void* address = x.any().view().buffer->address();
  add_to(x, make({2}, {1, 1}));
  scale(x, 2);
  EXPECT_EQ(x.any().view().buffer->address(), address);
  EXPECT_THAT(x.to_host(), ElementsAre(22, 42));
}

TEST_F(TensorElementwise, NothingIsLaunchedForNoElements) {
  const auto none = make({0, 3}, {});
  EXPECT_EQ((none + make({3}, {1, 2, 3})).shape(), (Shape{0, 3}));
  EXPECT_EQ((none * 2).count(), 0);
  EXPECT_EQ(greater(none, 0).count(), 0);
  EXPECT_EQ(random_uniform({0}, 1, 0, Placement{&backend_, 0}).count(), 0);
}

}  // namespace
}  // namespace belfry::tensor_elementwise_test
