// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_backend.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/code_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace belfry::tensor_axis_test {
namespace {

using testing::code_of;
using ::testing::ElementsAre;

class TensorAxis : public ::testing::Test {
 protected:
  template <class T = float>
  Tensor<T> make(Shape shape, std::vector<T> values) {
    return Tensor<T>::from(std::move(shape), values, Placement{&backend_, 0});
  }
  HostBackend backend_{2};
};

TEST_F(TensorAxis, ConcatenatesAlongEachAxis) {
  const auto a = make({2, 1, 2}, {1, 2, 3, 4});
  const auto b = make({2, 2, 2}, {5, 6, 7, 8, 9, 10, 11, 12});
  const auto middle = concatenate<float>({a, b}, Axis(1));
  EXPECT_EQ(middle.shape(), Shape({2, 3, 2}));
  EXPECT_THAT(middle.to_host(), ElementsAre(1, 2, 5, 6, 7, 8, 3, 4, 9, 10, 11, 12));

  const auto first = concatenate<float>({a, a}, Axis(0));
  EXPECT_EQ(first.shape(), Shape({4, 1, 2}));
  EXPECT_THAT(first.to_host(), ElementsAre(1, 2, 3, 4, 1, 2, 3, 4));

  const auto last = concatenate<float>({a, a}, Axis(-1));
  EXPECT_EQ(last.shape(), Shape({2, 1, 4}));
  EXPECT_THAT(last.to_host(), ElementsAre(1, 2, 1, 2, 3, 4, 3, 4));
}

TEST_F(TensorAxis, ConcatenatesTypesThatHaveNoKernelsToMoveRows) {
  const auto small = make<std::int16_t>({2, 1}, {-1, 300});
  EXPECT_THAT(concatenate<std::int16_t>({small, small}, Axis(1)).to_host(),
              ElementsAre(-1, -1, 300, 300));
  const auto large = make<std::uint64_t>({2, 1}, {~std::uint64_t{0}, 7});
  EXPECT_THAT(concatenate<std::uint64_t>({large, large}, Axis(1)).to_host(),
              ElementsAre(~std::uint64_t{0}, ~std::uint64_t{0}, 7, 7));
}

TEST_F(TensorAxis, ConcatenatesEmptyParts) {
  const auto none = make({2, 0}, {});
  const auto some = make({2, 1}, {3, 4});
  EXPECT_THAT(concatenate<float>({none, some, none}, Axis(1)).to_host(), ElementsAre(3, 4));
  EXPECT_EQ(concatenate<float>({none, none}, Axis(0)).shape(), Shape({4, 0}));
}

TEST_F(TensorAxis, SlicesAlongEachAxis) {
  const auto x = make({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(slice(x, Axis(0), 1, 2).to_host(), ElementsAre(4, 5, 6));
  const auto columns = slice(x, Axis(1), 1, 3);
  EXPECT_EQ(columns.shape(), Shape({2, 2}));
  EXPECT_THAT(columns.to_host(), ElementsAre(2, 3, 5, 6));
  EXPECT_EQ(slice(x, Axis(1), 2, 2).shape(), Shape({2, 0}));
}

TEST_F(TensorAxis, SlicesAreNotSeenByOneAnother) {
  auto x = make({2, 2}, {1, 2, 3, 4});
  auto row = slice(x, Axis(0), 0, 1);
  scale(row, 10.0F);
  EXPECT_THAT(row.to_host(), ElementsAre(10, 20));
  EXPECT_THAT(x.to_host(), ElementsAre(1, 2, 3, 4));
  row = slice(x, Axis(0), 0, 1);
  scale(x, 2.0F);
  EXPECT_THAT(row.to_host(), ElementsAre(1, 2));
}

TEST_F(TensorAxis, SumsAlongEachAxis) {
  const auto x = make({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const auto outer = axis_sum(x, Axis(0));
  EXPECT_EQ(outer.shape(), Shape({3, 2}));
  EXPECT_THAT(outer.to_host(), ElementsAre(8, 10, 12, 14, 16, 18));
  const auto middle = axis_sum(x, Axis(1));
  EXPECT_EQ(middle.shape(), Shape({2, 2}));
  EXPECT_THAT(middle.to_host(), ElementsAre(9, 12, 27, 30));
  const auto inner = axis_sum(x, Axis(2));
  EXPECT_EQ(inner.shape(), Shape({2, 3}));
  EXPECT_THAT(inner.to_host(), ElementsAre(3, 7, 11, 15, 19, 23));
  EXPECT_EQ(axis_sum(make({3}, {1, 2, 3}), Axis(0)).item(), 6);
}

TEST_F(TensorAxis, SumOfNoneIsZero) {
  EXPECT_THAT(axis_sum(make({2, 0}, {}), Axis(1)).to_host(), ElementsAre(0, 0));
  EXPECT_THAT(axis_sum(make({0, 2}, {}), Axis(0)).to_host(), ElementsAre(0, 0));
}

TEST_F(TensorAxis, RefusesWhatDoesNotFit) {
  const auto x = make({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto scalar = make({}, {1});
  EXPECT_EQ(code_of([&] { axis_sum(x, Axis(2)); }), ErrorCode::kShape);
  EXPECT_EQ(code_of([&] { axis_sum(x, Axis(-3)); }), ErrorCode::kShape);
  EXPECT_EQ(code_of([&] { axis_sum(scalar, Axis(0)); }), ErrorCode::kShape);
  EXPECT_EQ(code_of([&] { slice(x, Axis(0), 1, 3); }), ErrorCode::kShape);
  EXPECT_EQ(code_of([&] { slice(x, Axis(0), 2, 1); }), ErrorCode::kShape);
  EXPECT_EQ(code_of([&] { slice(x, Axis(0), -1, 1); }), ErrorCode::kShape);
  EXPECT_EQ(code_of([&] { concatenate<float>({x, make({2, 2}, {1, 2, 3, 4})}); }),
            ErrorCode::kShape);
  EXPECT_EQ(code_of([&] { concatenate<float>({x, make({2}, {1, 2})}); }), ErrorCode::kShape);
  EXPECT_EQ(code_of([&] { concatenate<float>({}); }), ErrorCode::kInvalidArgument);
  const auto elsewhere = Tensor<float>::full({2, 3}, 1, Placement{&backend_, 1});
  EXPECT_EQ(code_of([&] { concatenate<float>({x, elsewhere}); }), ErrorCode::kForeignObject);
}

TEST_F(TensorAxis, HugeExtentsBesideNoneAreNoMore) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  const auto none = [&](Shape shape) { return make(std::move(shape), {}); };
  const auto front = none({0, kHuge, kHuge});
  EXPECT_EQ(concatenate(std::vector{front, front}).shape(), (Shape{0, kHuge, kHuge}));
  EXPECT_EQ(slice(front, Axis(0), 0, 0).shape(), (Shape{0, kHuge, kHuge}));
  const auto back = none({kHuge, kHuge, 0});
  EXPECT_EQ(concatenate(std::vector{back, back}, Axis(2)).shape(), (Shape{kHuge, kHuge, 0}));
  EXPECT_EQ(slice(back, Axis(2), 0, 0).shape(), (Shape{kHuge, kHuge, 0}));
  EXPECT_EQ(detail::extents_product({2, 3, 5}, 1, 3), 15);
  EXPECT_EQ(detail::extents_product({kHuge, kHuge, 0}, 0, 3), 0);
}

TEST_F(TensorAxis, TensorsBeyondTheAddressSpaceAreRefused) {
  constexpr std::int64_t kBytes = std::int64_t{1} << 61;  // Times 8 it is no bytes, modulo 2^64.
  for (const std::int64_t count : {kBytes, kBytes + 1, 2 * kBytes - 1}) {
    EXPECT_EQ(code_of([&] { AnyTensor::allocate(DType::kFloat64, Shape{count}, {&backend_, 0}); }),
              ErrorCode::kOutOfMemory);
  }
}

}  // namespace
}  // namespace belfry::tensor_axis_test
