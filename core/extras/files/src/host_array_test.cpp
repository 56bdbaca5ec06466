// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/files/host_array.h"

#include "belfry/error.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <numeric>
#include <tuple>
#include <vector>

namespace belfry::host_array_test {
namespace {

using testing::code_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

template <class T>
HostArray array_of(Shape shape, const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return {dtype_of<T>(), std::move(shape), std::move(bytes)};
}

TEST(HostArray, PrintsItsTypeAndShape) {
  EXPECT_EQ(::testing::PrintToString(array_of<float>(Shape{2, 1}, {1, 2})), "float32[2,1]");
}

template <class T>
std::vector<T> all(const Dataset<T>& dataset) {
  std::vector<T> elements;
  for (const T& element : dataset) elements.push_back(element);
  return elements;
}

TEST(HostArray, HasElementsRowsAndValues) {
  const HostArray matrix = array_of<std::int16_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(matrix.dtype(), DType::kInt16);
  EXPECT_EQ(matrix.at<std::int16_t>(4), 5);
  EXPECT_THAT(matrix.values<std::int16_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(all(matrix.rows<std::int16_t>()),
              ElementsAre(ElementsAre(1, 2, 3), ElementsAre(4, 5, 6)));
  EXPECT_THAT(all(array_of<double>({3}, {0.5, 1, 2}).elements<double>()), ElementsAre(0.5, 1, 2));
  EXPECT_THAT(all(array_of<float>({0, 3}, {}).rows<float>()), IsEmpty());
  EXPECT_THAT(all(array_of<float>({2, 0}, {}).rows<float>()), ElementsAre(IsEmpty(), IsEmpty()));
  const HostArray flags(DType::kBool, {2}, {std::byte{1}, std::byte{0}});
  EXPECT_THAT(flags.values<bool>(), ElementsAre(true, false));
}

// Several processes compare the words of datasets (SEM-185).
TEST(HostArray, IsNamedInItsDatasets) {
  testing::asserts("SEM-185");
  std::vector<float> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  std::vector<float> next = numbers;
  for (float& number : next) number += 1000;
  const auto read = [](const std::vector<float>& values, const char* path) {
    return array_of<float>({1000}, values).from_file(path).elements<float>().recipe();
  };
  const detail::Recipe one = read(numbers, "/data/of/host0/part-0.npy");
  EXPECT_TRUE(one.is_seen());
  EXPECT_THAT(one.words(), StartsWith("\"part-0.npy float32[1000], sample "));
  EXPECT_EQ(one.digest(), read(numbers, "/mnt/part-0.npy").digest());
  EXPECT_NE(one.digest(), read(numbers, "/data/of/host0/part-1.npy").digest());
  EXPECT_NE(one.digest(), read(next, "/data/of/host0/part-0.npy").digest());
  EXPECT_THAT(array_of<float>({2}, {1, 2}).rows<float>().recipe().words(),
              StartsWith("\"array float32[2], sample "));
}

TEST(HostArray, RefusesWhatDoesNotFit) {
  const HostArray matrix = array_of<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(code_of([&] { std::ignore = matrix.values<double>(); }), ErrorCode::kDType);
  EXPECT_EQ(code_of([&] { std::ignore = matrix.at<float>(4); }), ErrorCode::kOutOfBounds);
  EXPECT_EQ(code_of([&] { std::ignore = matrix.at<float>(-1); }), ErrorCode::kOutOfBounds);
  EXPECT_EQ(code_of([&] { std::ignore = matrix.elements<float>(); }), ErrorCode::kShape);
  EXPECT_EQ(code_of([&] { std::ignore = matrix.rows<int>(); }), ErrorCode::kDType);
  EXPECT_EQ(code_of([] { std::ignore = array_of<float>({}, {1}).rows<float>(); }),
            ErrorCode::kShape);
  EXPECT_EQ(code_of([] { HostArray(DType::kInt32, {2}, std::vector<std::byte>(7)); }),
            ErrorCode::kShape);
  EXPECT_EQ(code_of([] { HostArray(DType::kInt32, {2}, std::vector<std::byte>(12)); }),
            ErrorCode::kShape);
  EXPECT_EQ(code_of([] { HostArray(DType::kBool, {1}, {std::byte{2}}); }),
            ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace belfry::host_array_test
