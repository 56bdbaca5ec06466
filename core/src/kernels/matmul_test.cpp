// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_kernels.h"
#include "kernels/operands_test.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace belfry::matmul_test {
namespace {

using testing::Elements;
using testing::kIsFloat;
using testing::Pattern;

struct Product {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t inner = 0;
  bool transpose_left = false;
  bool transpose_right = false;
  Pattern pattern = Pattern::kZeros;
  std::uint64_t seed = 0;
};

void showValue(const Product& p, std::ostream& os) {
  os << p.rows << 'x' << p.inner << (p.transpose_left ? "^T" : "") << " by " << p.inner << 'x'
     << p.columns << (p.transpose_right ? "^T" : "") << ", ";
  showValue(p.pattern, os);
  os << ", seed " << p.seed;
}

// Mostly small; now and then beyond the blocks (64 rows, 504 columns, 256 inner).
rc::Gen<std::size_t> any_extent(std::size_t block) {
  return rc::gen::weightedOneOf<std::size_t>(
      {{9, rc::gen::inRange<std::size_t>(0, 20)},
       {1, rc::gen::inRange<std::size_t>(block - 3, block + 14)}});
}

rc::Gen<Product> any_product() {
  return rc::gen::build<Product>(
      rc::gen::set(&Product::rows, any_extent(64)),
      rc::gen::set(&Product::columns, any_extent(504)),
      rc::gen::set(&Product::inner, any_extent(256)),
      rc::gen::set(&Product::transpose_left, rc::gen::arbitrary<bool>()),
      rc::gen::set(&Product::transpose_right, rc::gen::arbitrary<bool>()),
      rc::gen::set(&Product::pattern, testing::any_pattern()),
      rc::gen::set(&Product::seed, rc::gen::arbitrary<std::uint64_t>()));
}

template <class T>
Elements<T> multiply(const Product& p, const Elements<T>& left, const Elements<T>& right) {
  Elements<T> out(p.rows * p.columns, 1);
  KernelCall call;
  call.kind = KernelKind::kMatmul;
  call.parameters.rows = static_cast<std::int64_t>(p.rows);
  call.parameters.columns = static_cast<std::int64_t>(p.columns);
  call.parameters.inner = static_cast<std::int64_t>(p.inner);
  call.parameters.transpose_left = p.transpose_left;
  call.parameters.transpose_right = p.transpose_right;
  call.inputs = {left.operand(), right.operand()};
  call.outputs = {out.operand()};
  run_on_host(call);
  return out;
}

// Three loops, the inner one over the inner index: the definition of the bits.
template <class T>
T naive_element(const Product& p, const Elements<T>& left, const Elements<T>& right,
                std::size_t row, std::size_t column) {
  const auto value = [](T x) {
    if constexpr (kIsFloat<T>)
      return testing::value_of(x);
    else
      return static_cast<std::uint64_t>(x);
  };
  decltype(value(T())) sum = 0;
  for (std::size_t k = 0; k < p.inner; ++k) {
    const auto a = value(left[p.transpose_left ? k * p.rows + row : row * p.inner + k]);
    const auto b = value(right[p.transpose_right ? column * p.inner + k : k * p.columns + column]);
    const auto product = a * b;
    sum = sum + product;
  }
  return testing::rounded_to<T>(sum);
}

template <class T>
void check_product(const Product& p) {
  const Elements<T> left(p.rows * p.inner, p.pattern, p.seed, 1);
  const Elements<T> right(p.inner * p.columns, p.pattern, p.seed + 1);
  testing::assert_elements(multiply(p, left, right), [&](std::size_t i) {
    return naive_element(p, left, right, i / p.columns, i % p.columns);
  });
}

RC_GTEST_PROP(Matmul, IsTheNaiveProductBitForBit, ()) {
  const auto product = *any_product();
  testing::for_numeric_types(
      [&](auto* type) { check_product<std::remove_pointer_t<decltype(type)>>(product); });
}

TEST(Matmul, BlocksInAllDirections) {
  for (const bool transposed : {false, true}) {
    const Product p{.rows = 131,
                    .columns = 1011,
                    .inner = 519,
                    .transpose_left = transposed,
                    .transpose_right = !transposed,
                    .pattern = Pattern::kUnitInterval,
                    .seed = 4};
    check_product<float>(p);
    check_product<BFloat16>(p);
    check_product<std::int8_t>(p);
  }
}

}  // namespace
}  // namespace belfry::matmul_test
