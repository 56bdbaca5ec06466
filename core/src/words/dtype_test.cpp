// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/dtype.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace belfry::dtype_test {
namespace {

template <class T>
void expect_maps_to(DType dtype, const char* name) {
  EXPECT_EQ(dtype_of<T>(), dtype) << name;
  EXPECT_EQ(size_of(dtype), sizeof(T)) << name;
  EXPECT_EQ(to_string(dtype), name);
}

TEST(DType, EveryElementTypeHasItsDTypeSizeAndName) {
  expect_maps_to<float>(DType::kFloat32, "float32");
  expect_maps_to<double>(DType::kFloat64, "float64");
  expect_maps_to<Float16>(DType::kFloat16, "float16");
  expect_maps_to<BFloat16>(DType::kBFloat16, "bfloat16");
  expect_maps_to<std::int8_t>(DType::kInt8, "int8");
  expect_maps_to<std::int16_t>(DType::kInt16, "int16");
  expect_maps_to<std::int32_t>(DType::kInt32, "int32");
  expect_maps_to<std::int64_t>(DType::kInt64, "int64");
  expect_maps_to<std::uint8_t>(DType::kUInt8, "uint8");
  expect_maps_to<std::uint16_t>(DType::kUInt16, "uint16");
  expect_maps_to<std::uint32_t>(DType::kUInt32, "uint32");
  expect_maps_to<std::uint64_t>(DType::kUInt64, "uint64");
  expect_maps_to<bool>(DType::kBool, "bool");
}

TEST(DType, IntegersOfTheLanguageMapByWidthAndSign) {
  EXPECT_EQ(dtype_of<signed char>(), DType::kInt8);
  EXPECT_EQ(dtype_of<unsigned char>(), DType::kUInt8);
  EXPECT_EQ(dtype_of<long long>(), DType::kInt64);
  EXPECT_EQ(dtype_of<unsigned long>(), sizeof(long) == 8 ? DType::kUInt64 : DType::kUInt32);
}

TEST(DType, OtherTypesAreRejected) {
  EXPECT_FALSE(Element<long double>);
  EXPECT_FALSE(Element<wchar_t>);
  EXPECT_FALSE(Element<char16_t>);
  EXPECT_FALSE(Element<void*>);
  EXPECT_FALSE(Element<std::string>);
}

TEST(DType, FourAreFloating) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::string name = to_string(dtype);
    EXPECT_EQ(is_floating(dtype), name.find("float") != std::string::npos) << name;
  }
}

}  // namespace
}  // namespace belfry::dtype_test
