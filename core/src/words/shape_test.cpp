// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/shape.h"

#include "belfry/error.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace belfry::shape_test {
namespace {

using ::testing::ElementsAreArray;

TEST(Shape, AScalarHasRankZeroAndOneElement) {
  const Shape scalar;
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.count(), 1);
  EXPECT_EQ(to_string(scalar), "[]");
}

TEST(Shape, CountsAndPrintsItsExtents) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.count(), 24);
  EXPECT_EQ(to_string(shape), "[2,3,4]");
  EXPECT_EQ(shape.extent(0), 2);
  EXPECT_EQ(shape.extent(-1), 4);
  EXPECT_EQ(shape.extent(-3), 2);
  EXPECT_EQ(shape, Shape(std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_NE(shape, (Shape{4, 3, 2}));
}

TEST(Shape, HasAnyNumberOfAxes) {
  for (int rank = 0; rank < 9; ++rank) {
    std::vector<std::int64_t> extents;
    for (int axis = 0; axis < rank; ++axis) extents.push_back(axis + 1);
    const Shape shape(extents);
    EXPECT_EQ(shape.rank(), rank);
    EXPECT_THAT(shape.extents(), ElementsAreArray(extents));
    for (int axis = 0; axis < rank; ++axis) EXPECT_EQ(shape.extent(axis), axis + 1);
    const Shape copy = shape;
    EXPECT_EQ(copy, shape);
    if (rank == 0) continue;
    extents.back() += 1;
    EXPECT_NE(shape, Shape(extents));
    extents.pop_back();
    EXPECT_NE(shape, Shape(extents));
  }
}

TEST(Shape, AZeroExtentMakesItEmptyWhateverTheOthersAre) {
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_EQ((Shape{huge, huge, 0}).count(), 0);
}

TEST(Shape, HoldsUpTo63BitsOfElements) {
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ((Shape{largest, 1}).count(), largest);
  EXPECT_THROW((Shape{std::int64_t{1} << 32, std::int64_t{1} << 31}), InvalidArgumentError);
}

TEST(Shape, BadExtentsAndAxesAreNamed) {
  const ErrorReport negative = report_of([] { Shape{2, -3}; });
  EXPECT_EQ(negative.code, ErrorCode::kShape);
  EXPECT_EQ(negative.summary, "shape [2,-3]: an extent is negative");
  EXPECT_EQ(negative.site.line, __LINE__ - 3);
  EXPECT_EQ(negative.hint, "write out every extent: -1 is not computed from the others");
  const ErrorReport absent = report_of([] { (void)Shape{2, 3}.extent(2); });
  EXPECT_EQ(absent.summary, "shape [2,3] has no axis 2");
  EXPECT_EQ(absent.hint, "axes are 0 to 1, or -1 for the last");
  EXPECT_THROW((void)(Shape{2, 3}.extent(-3)), InvalidArgumentError);
  EXPECT_THROW((void)Shape().extent(0), InvalidArgumentError);
}

}  // namespace
}  // namespace belfry::shape_test
