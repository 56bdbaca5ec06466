// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_backend.h"
#include "belfry/tensor_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace belfry::tensor_matrix_test {
namespace {

using ::testing::ElementsAre;

class TensorMatrix : public ::testing::Test {
 protected:
  template <class T = float>
  Tensor<T> make(Shape shape, std::vector<T> values) {
    return Tensor<T>::from(std::move(shape), values, Placement{&backend_, 0});
  }
  HostBackend backend_{1};
};

TEST_F(TensorMatrix, FoldsOfRowsAndColumns) {
  const auto a = make({2, 3}, {1, 7, 2, -5, -3, -4});
  EXPECT_THAT(row_sum(a).to_host(), ElementsAre(10, -12));
  EXPECT_THAT(row_max(a).to_host(), ElementsAre(7, -3));
  EXPECT_THAT(column_sum(a).to_host(), ElementsAre(-4, 4, -2));
  EXPECT_THAT(column_max(a).to_host(), ElementsAre(1, 7, 2));
  EXPECT_EQ(row_sum(a).shape(), (Shape{2}));
  EXPECT_EQ(column_sum(a).shape(), (Shape{3}));
}

TEST_F(TensorMatrix, NothingSumsToZero) {
  EXPECT_THAT(row_sum(make({2, 0}, {})).to_host(), ElementsAre(0, 0));
  EXPECT_THAT(column_sum(make({0, 2}, {})).to_host(), ElementsAre(0, 0));
  EXPECT_EQ(row_max(make({0, 2}, {})).shape(), (Shape{0}));
  EXPECT_THAT(matmul(make({2, 0}, {}), make({0, 2}, {})).to_host(), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(matmul(make({0, 2}, {}), make({2, 3}, {1, 2, 3, 4, 5, 6})).shape(), (Shape{0, 3}));
}

TEST_F(TensorMatrix, ProductsWithAndWithoutTransposes) {
  // [1 2 3; 4 5 6] [1 0; 2 1; 0 3] = [5 11; 14 23], by hand.
  const auto a = make({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto at = make({3, 2}, {1, 4, 2, 5, 3, 6});
  const auto b = make({3, 2}, {1, 0, 2, 1, 0, 3});
  const auto bt = make({2, 3}, {1, 2, 0, 0, 1, 3});
  const auto is_product = ElementsAre(5, 11, 14, 23);
  EXPECT_THAT(matmul(a, b).to_host(), is_product);
  EXPECT_THAT(matmul(at, b, {.transpose_a = true}).to_host(), is_product);
  EXPECT_THAT(matmul(a, bt, {.transpose_b = true}).to_host(), is_product);
  EXPECT_THAT(matmul(at, bt, {.transpose_a = true, .transpose_b = true}).to_host(), is_product);
  EXPECT_EQ(matmul(b, a).shape(), (Shape{3, 3}));
}

TEST_F(TensorMatrix, RowsAreGatheredByIndex) {
  const auto table = make({3, 2}, {0, 1, 10, 11, 20, 21});
  const auto rows = gather_rows(table, make<std::int32_t>({4}, {2, 0, 2, 1}));
  EXPECT_EQ(rows.shape(), (Shape{4, 2}));
  EXPECT_THAT(rows.to_host(), ElementsAre(20, 21, 0, 1, 20, 21, 10, 11));
  EXPECT_EQ(gather_rows(table, make<std::int64_t>({0}, {})).shape(), (Shape{0, 2}));
}

TEST_F(TensorMatrix, ScatteredRowsAddUp) {
  auto table = make({2, 2}, {1, 1, 1, 1});
  const auto before = table;
  scatter_add_rows(table, make<std::int64_t>({3}, {1, 0, 1}), make({3, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(table.to_host(), ElementsAre(4, 5, 7, 9));
  EXPECT_THAT(before.to_host(), ElementsAre(1, 1, 1, 1));
}

TEST_F(TensorMatrix, ATableCanBeScatteredIntoItself) {
  auto table = make({2, 1}, {3, 4});
  scatter_add_rows(table, make<std::int64_t>({2}, {1, 0}), table);
  EXPECT_THAT(table.to_host(), ElementsAre(7, 7));
}

TEST_F(TensorMatrix, TheFirstOfSeveralLargestWins) {
  EXPECT_THAT(argmax_rows(make({3, 3}, {1, 5, 5, 7, 2, 7, -3, -2, -1})), ElementsAre(1, 0, 2));
  EXPECT_THAT(argmax_rows(make({0, 3}, {})), ElementsAre());
}

}  // namespace
}  // namespace belfry::tensor_matrix_test
