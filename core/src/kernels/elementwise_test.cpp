// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/element_ops.h"
#include "belfry/backend/host_kernels.h"
#include "kernels/operands_test.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace belfry::elementwise_test {
namespace {

using testing::assert_elements;
using testing::Elements;
using testing::kIsFloat;
using testing::Pattern;
using testing::rounded_to;
using testing::Stored;
using testing::value_of;

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

// A second implementation: floats with the operations of C++, integers in 128 bits, cut to size.
template <class T>
auto wide(T x) {
  if constexpr (kIsFloat<T>) {
    return value_of(x);
  } else {
    return static_cast<std::conditional_t<std::is_signed_v<T>, Int128, UInt128>>(x);
  }
}

template <class T, class V>
T narrow(V x) {
  if constexpr (kIsFloat<T>) {
    return rounded_to<T>(x);
  } else {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x));
  }
}

template <class T>
T naive_binary(BinaryOp op, T left, T right) {
  const auto a = wide(left);
  const auto b = wide(right);
  if constexpr (kIsFloat<T>) {
    if (std::isnan(a) || std::isnan(b)) return narrow<T>(a + b);
  }
  switch (op) {
    case BinaryOp::kAdd:
      return narrow<T>(a + b);
    case BinaryOp::kSubtract:
      return narrow<T>(a - b);
    case BinaryOp::kMultiply:
      return narrow<T>(a * b);
    case BinaryOp::kDivide:
      if (!kIsFloat<T> && b == 0) return T(0);
      return narrow<T>(a / b);
    case BinaryOp::kMinimum:
      return b < a ? right : left;
    case BinaryOp::kMaximum:
      return a < b ? right : left;
  }
  return left;
}

template <class T>
T naive_unary(UnaryOp op, T element, double scalar, std::int64_t integer_scalar) {
  const auto x = wide(element);
  using V = std::remove_const_t<decltype(x)>;
  const V factor = kIsFloat<T> ? static_cast<V>(scalar) : static_cast<V>(integer_scalar);
  if constexpr (kIsFloat<T>) {
    if (std::isnan(x) && op != UnaryOp::kStep) return element;
    if (op == UnaryOp::kSqrt) return narrow<T>(std::sqrt(x));
    if (op == UnaryOp::kReciprocal) return narrow<T>(1 / x);
    if (op == UnaryOp::kExp) return narrow<T>(element::exp(x));
    if (op == UnaryOp::kLog) return narrow<T>(element::log(x));
    if (op == UnaryOp::kTanh) return narrow<T>(element::tanh(x));
  }
  switch (op) {
    case UnaryOp::kNegate:
      return narrow<T>(-x);
    case UnaryOp::kAbs:
      if constexpr (kIsFloat<T>) return narrow<T>(std::abs(x));
      return narrow<T>(x < 0 ? -x : x);
    case UnaryOp::kSquare:
      return narrow<T>(x * x);
    case UnaryOp::kRelu:
      return x > 0 ? element : T(0);
    case UnaryOp::kStep:
      return narrow<T>(V(x > 0 ? 1 : 0));
    case UnaryOp::kScale:
      return narrow<T>(x * factor);
    default:
      return narrow<T>(x + factor);
  }
}

struct Shape {
  std::size_t rows;
  std::size_t columns;
  std::size_t count() const { return rows * columns; }
};

void showValue(const Shape& shape, std::ostream& os) { os << shape.rows << 'x' << shape.columns; }

rc::Gen<Shape> any_shape() {
  return rc::gen::construct<Shape>(rc::gen::inRange<std::size_t>(0, 8),
                                   rc::gen::inRange<std::size_t>(0, 40));
}

KernelCall call_of(KernelKind kind, KernelOperand out, std::vector<KernelOperand> in) {
  KernelCall call;
  call.kind = kind;
  call.outputs = {out};
  call.inputs = std::move(in);
  return call;
}

template <class T>
void check_unary(UnaryOp op, std::size_t count, std::size_t offset, Pattern pattern,
                 std::uint64_t seed) {
  const Elements<T> in(count, pattern, seed, offset);
  Elements<T> out(count, 1);
  KernelCall call = call_of(KernelKind::kUnary, out.operand(), {in.operand()});
  call.parameters.unary = op;
  call.parameters.scalar = 0.3;
  call.parameters.integer_scalar = -77;
  run_on_host(call);
  const auto expected = [&](std::size_t i) { return naive_unary<T>(op, in[i], 0.3, -77); };
  assert_elements(out, expected);
  Elements<T> both(count, pattern, seed, offset);
  call.inputs = call.outputs = {both.operand()};
  run_on_host(call);
  assert_elements(both, expected);
}

RC_GTEST_PROP(Elementwise, UnaryIsTheOperationOnEachElement, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(0, 70);
  const auto offset = *rc::gen::inRange<std::size_t>(0, 4);
  const auto pattern = *testing::any_pattern();
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  testing::for_numeric_types([&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (int op = 0; op <= static_cast<int>(UnaryOp::kShift); ++op) {
      if (!element::supports(static_cast<UnaryOp>(op), dtype_of<T>())) continue;
      check_unary<T>(static_cast<UnaryOp>(op), count, offset, pattern, seed);
    }
  });
}

std::size_t right_count(Broadcast broadcast, Shape shape) {
  switch (broadcast) {
    case Broadcast::kNone:
      return shape.count();
    case Broadcast::kScalar:
      return 1;
    case Broadcast::kRow:
      return shape.columns;
    default:
      return shape.rows;
  }
}

std::size_t right_index(Broadcast broadcast, Shape shape, std::size_t i) {
  switch (broadcast) {
    case Broadcast::kNone:
      return i;
    case Broadcast::kScalar:
      return 0;
    case Broadcast::kRow:
      return i % shape.columns;
    default:
      return i / shape.columns;
  }
}

// Runs a binary kernel out of place, in place on the left and, without broadcast, on the right.
template <class Out, class T, class Expected>
void check_combination(KernelCall call, Shape shape, Pattern pattern, std::uint64_t seed,
                       const Expected& expected) {
  const Broadcast broadcast = call.parameters.broadcast;
  call.parameters.rows = static_cast<std::int64_t>(shape.rows);
  call.parameters.columns = static_cast<std::int64_t>(shape.columns);
  Elements<T> left(shape.count(), pattern, seed, 1);
  Elements<T> right(right_count(broadcast, shape), pattern, seed + 1);
  const auto at = [&](std::size_t i) {
    return expected(left[i], right[right_index(broadcast, shape, i)]);
  };
  Elements<Out> out(shape.count());
  call.outputs = {out.operand()};
  call.inputs = {left.operand(), right.operand()};
  run_on_host(call);
  assert_elements(out, at);
  if constexpr (std::is_same_v<Out, T>) {
    Elements<T> both(shape.count(), pattern, seed, 1);
    call.inputs[0] = call.outputs[0] = both.operand();
    run_on_host(call);
    assert_elements(both, at);
    if (broadcast == Broadcast::kNone) {
      Elements<T> other(shape.count(), pattern, seed + 1);
      call.inputs = {left.operand(), other.operand()};
      call.outputs = {other.operand()};
      run_on_host(call);
      assert_elements(other, at);
    }
  }
}

RC_GTEST_PROP(Elementwise, BinaryIsTheOperationOnPairs, ()) {
  const auto shape = *any_shape();
  const auto broadcast =
      *rc::gen::element(Broadcast::kNone, Broadcast::kScalar, Broadcast::kRow, Broadcast::kColumn);
  const auto pattern = *testing::any_pattern();
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  KernelCall call;
  call.kind = KernelKind::kBinary;
  call.parameters.broadcast = broadcast;
  for (int number = 0; number <= static_cast<int>(BinaryOp::kMaximum); ++number) {
    const auto op = static_cast<BinaryOp>(number);
    call.parameters.binary = op;
    testing::for_numeric_types([&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      check_combination<T, T>(call, shape, pattern, seed,
                              [&](T a, T b) { return naive_binary(op, a, b); });
    });
  }
  call.parameters.binary = BinaryOp::kMinimum;
  check_combination<bool, bool>(call, shape, pattern, seed,
                                [](auto a, auto b) { return a != 0 && b != 0 ? 1 : 0; });
  call.parameters.binary = BinaryOp::kMaximum;
  check_combination<bool, bool>(call, shape, pattern, seed,
                                [](auto a, auto b) { return a != 0 || b != 0 ? 1 : 0; });
}

template <class V>
bool naive_compare(CompareOp op, V a, V b) {
  switch (op) {
    case CompareOp::kEqual:
      return a == b;
    case CompareOp::kNotEqual:
      return a != b;
    case CompareOp::kLess:
      return a < b;
    case CompareOp::kLessEqual:
      return a <= b;
    case CompareOp::kGreater:
      return a > b;
    default:
      return a >= b;
  }
}

RC_GTEST_PROP(Elementwise, CompareIsTheComparisonOfPairs, ()) {
  const auto shape = *any_shape();
  const auto broadcast =
      *rc::gen::element(Broadcast::kNone, Broadcast::kScalar, Broadcast::kRow, Broadcast::kColumn);
  const auto pattern = *testing::any_pattern();
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  KernelCall call;
  call.kind = KernelKind::kCompare;
  call.parameters.broadcast = broadcast;
  for (int number = 0; number <= static_cast<int>(CompareOp::kGreaterEqual); ++number) {
    const auto op = static_cast<CompareOp>(number);
    call.parameters.compare = op;
    testing::for_numeric_types([&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      check_combination<bool, T>(call, shape, pattern, seed, [&](T a, T b) {
        return naive_compare(op, value_of(a), value_of(b)) ? 1 : 0;
      });
    });
    check_combination<bool, bool>(call, shape, pattern, seed, [&](auto a, auto b) {
      return naive_compare(op, a != 0, b != 0) ? 1 : 0;
    });
  }
}

RC_GTEST_PROP(Elementwise, SelectTakesLeftWhereTrue, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(0, 70);
  const auto pattern = *testing::any_pattern();
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const Elements<bool> condition(count, pattern, seed, 1);
  const auto check = [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const Elements<T> left(count, Pattern::kAnyBits, seed + 1);
    Elements<T> right(count, Pattern::kAnyBits, seed + 2, 1);
    Elements<T> out(count);
    KernelCall call = call_of(KernelKind::kSelect, out.operand(),
                              {condition.operand(), left.operand(), right.operand()});
    run_on_host(call);
    const Elements<T> other(count, Pattern::kAnyBits, seed + 2);
    call.outputs = {right.operand()};
    run_on_host(call);
    for (std::size_t i = 0; i < count; ++i) {
      const Stored<T> expected = condition[i] != 0 ? left[i] : other[i];
      RC_ASSERT(testing::bits_of(out[i]) == testing::bits_of(expected));
      RC_ASSERT(testing::bits_of(right[i]) == testing::bits_of(expected));
    }
  };
  testing::for_numeric_types(check);
  testing::for_each_type<bool>(check);
}

TEST(Elementwise, FillWritesTheScalar) {
  testing::for_all_types([](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (const std::size_t count : {0, 1, 33}) {
      Elements<T> out(count);
      KernelCall call = call_of(KernelKind::kFill, out.operand(), {});
      call.parameters.scalar = 2.5;
      call.parameters.integer_scalar = -2;
      run_on_host(call);
      for (std::size_t i = 0; i < count; ++i) {
        if constexpr (kIsFloat<T>) {
          EXPECT_EQ(static_cast<double>(value_of(out[i])), 2.5);
        } else if constexpr (std::is_same_v<T, bool>) {
          EXPECT_EQ(out[i], 1);
        } else {
          EXPECT_EQ(out[i], static_cast<T>(-2));
        }
      }
    }
  });
}

TEST(Elementwise, ScalarsAreRoundedOnce) {
  // Slightly above the tie between 1 and its float16 successor: a rounding to float first would
  // give the tie.
  Elements<Float16> half(1);
  KernelCall call = call_of(KernelKind::kFill, half.operand(), {});
  call.parameters.scalar = 1 + 0x1p-11 + 0x1p-40;
  run_on_host(call);
  EXPECT_EQ(half[0].bits, 0x3c01);
}

template <class T>
T one_binary(BinaryOp op, T left, T right) {
  Elements<T> a(1);
  Elements<T> b(1);
  a[0] = left;
  b[0] = right;
  KernelCall call = call_of(KernelKind::kBinary, a.operand(), {a.operand(), b.operand()});
  call.parameters.binary = op;
  run_on_host(call);
  return a[0];
}

TEST(Elementwise, IntegersWrapAndDivideSafely) {
  constexpr auto kLowest = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(one_binary(BinaryOp::kDivide, kLowest, -1), kLowest);
  EXPECT_EQ(one_binary<std::int32_t>(BinaryOp::kDivide, 7, 0), 0);
  EXPECT_EQ(one_binary<std::int64_t>(BinaryOp::kDivide, -7, 2), -3);
  EXPECT_EQ(one_binary<std::int8_t>(BinaryOp::kAdd, 127, 1), -128);
  EXPECT_EQ(one_binary<std::int32_t>(BinaryOp::kMultiply, 65536, 65536), 0);
  EXPECT_EQ(one_binary<std::uint8_t>(BinaryOp::kSubtract, 0, 1), 255);
  EXPECT_EQ(one_binary<std::int16_t>(BinaryOp::kAdd, 32767, 1), -32768);
  EXPECT_EQ(one_binary<std::int16_t>(BinaryOp::kDivide, -32768, -1), -32768);
  EXPECT_EQ(one_binary<std::uint16_t>(BinaryOp::kMultiply, 65535, 65535), 1);
  EXPECT_EQ(one_binary<std::uint32_t>(BinaryOp::kSubtract, 0, 1), 4294967295U);
  EXPECT_EQ(one_binary<std::uint32_t>(BinaryOp::kDivide, 4294967295U, 2), 2147483647U);
  EXPECT_EQ(one_binary<std::uint64_t>(BinaryOp::kAdd, ~std::uint64_t{0}, 2), 1U);
  EXPECT_EQ(one_binary<std::uint64_t>(BinaryOp::kDivide, ~std::uint64_t{0}, 0), 0U);
  EXPECT_EQ(one_binary<std::uint64_t>(BinaryOp::kMaximum, ~std::uint64_t{0}, 1), ~std::uint64_t{0});
  EXPECT_EQ(one_binary<std::int16_t>(BinaryOp::kMinimum, -1, 1), -1);
  EXPECT_EQ(one_binary<std::uint16_t>(BinaryOp::kMinimum, 65535, 1), 1);
}

TEST(Elementwise, MinimumAndMaximumOfZerosAndNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(one_binary(BinaryOp::kMaximum, nan, 1.0F)));
  EXPECT_TRUE(std::isnan(one_binary(BinaryOp::kMaximum, 1.0F, nan)));
  EXPECT_TRUE(std::isnan(one_binary(BinaryOp::kMinimum, nan, 1.0F)));
  EXPECT_TRUE(std::isnan(one_binary(BinaryOp::kMinimum, 1.0F, nan)));
  EXPECT_TRUE(std::signbit(one_binary(BinaryOp::kMaximum, -0.0F, 0.0F)));
  EXPECT_FALSE(std::signbit(one_binary(BinaryOp::kMinimum, 0.0F, -0.0F)));
}

}  // namespace
}  // namespace belfry::elementwise_test
