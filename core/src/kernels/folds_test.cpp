// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_kernels.h"
#include "kernels/operands_test.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace belfry::folds_test {
namespace {

using testing::Elements;
using testing::kIsFloat;
using testing::Pattern;
using testing::Stored;

struct Fold {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t offset = 0;
  bool by_row = false;
  FoldOp op = FoldOp::kSum;
  Pattern pattern = Pattern::kZeros;
  std::uint64_t seed = 0;
};

void showValue(const Fold& fold, std::ostream& os) {
  os << fold.rows << 'x' << fold.columns << (fold.by_row ? " by row" : " by column") << ", op "
     << static_cast<int>(fold.op) << ", ";
  showValue(fold.pattern, os);
  os << ", seed " << fold.seed;
}

rc::Gen<Fold> any_fold() {
  const auto extent = rc::gen::weightedOneOf<std::size_t>(
      {{9, rc::gen::inRange<std::size_t>(0, 20)}, {1, rc::gen::inRange<std::size_t>(0, 1200)}});
  return rc::gen::build<Fold>(
      rc::gen::set(&Fold::rows, extent), rc::gen::set(&Fold::columns, extent),
      rc::gen::set(&Fold::offset, rc::gen::inRange<std::size_t>(0, 4)),
      rc::gen::set(&Fold::by_row, rc::gen::arbitrary<bool>()),
      rc::gen::set(&Fold::op, rc::gen::element(FoldOp::kSum, FoldOp::kMaximum, FoldOp::kMinimum,
                                               FoldOp::kProduct)),
      rc::gen::set(&Fold::pattern, testing::any_pattern()),
      rc::gen::set(&Fold::seed, rc::gen::arbitrary<std::uint64_t>()));
}

template <class V>
V naive_step(FoldOp op, V folded, V x) {
  if (op == FoldOp::kSum) {
    if constexpr (std::is_floating_point_v<V>)
      return folded + x;
    else
      return static_cast<V>(static_cast<std::uint64_t>(folded) + static_cast<std::uint64_t>(x));
  }
  if (op == FoldOp::kProduct) {
    if constexpr (std::is_floating_point_v<V>)
      return folded * x;
    else
      return static_cast<V>(static_cast<std::uint64_t>(folded) * static_cast<std::uint64_t>(x));
  }
  if constexpr (std::is_floating_point_v<V>) {
    if (std::isnan(folded) || std::isnan(x)) return std::numeric_limits<V>::quiet_NaN();
    if (folded == 0 && x == 0 && std::signbit(folded) != std::signbit(x)) {
      return op == FoldOp::kMaximum ? V(0) : -V(0);
    }
  }
  if (op == FoldOp::kMaximum) return folded < x ? x : folded;
  return x < folded ? x : folded;
}

template <class T>
Stored<T> naive_of_nothing(FoldOp op) {
  if constexpr (kIsFloat<T>) {
    const float infinity = std::numeric_limits<float>::infinity();
    return static_cast<T>(op == FoldOp::kSum       ? 0
                          : op == FoldOp::kProduct ? 1
                          : op == FoldOp::kMaximum ? -infinity
                                                   : infinity);
  } else {
    using Limits = std::numeric_limits<T>;
    return static_cast<Stored<T>>(op == FoldOp::kSum       ? T(0)
                                  : op == FoldOp::kProduct ? T(1)
                                  : op == FoldOp::kMaximum ? Limits::lowest()
                                                           : Limits::max());
  }
}

template <class T>
Stored<T> naive_fold(const Fold& fold, const Elements<T>& in, std::size_t line) {
  const std::size_t length = fold.by_row ? fold.columns : fold.rows;
  if (length == 0) return naive_of_nothing<T>(fold.op);
  const auto at = [&](std::size_t k) {
    const Stored<T> x = in[fold.by_row ? line * fold.columns + k : k * fold.columns + line];
    if constexpr (std::is_same_v<T, bool>)
      return static_cast<std::uint8_t>(x != 0 ? 1 : 0);
    else
      return testing::value_of(x);
  };
  auto folded = at(0);
  for (std::size_t k = 1; k < length; ++k) folded = naive_step(fold.op, folded, at(k));
  return testing::rounded_to<Stored<T>>(folded);
}

template <class T>
void check_fold(const Fold& fold) {
  const Elements<T> in(fold.rows * fold.columns, fold.pattern, fold.seed, fold.offset);
  Elements<T> out(fold.by_row ? fold.rows : fold.columns);
  KernelCall call;
  call.kind = fold.by_row ? KernelKind::kRowReduce : KernelKind::kColumnReduce;
  call.parameters.fold = fold.op;
  call.parameters.rows = static_cast<std::int64_t>(fold.rows);
  call.parameters.columns = static_cast<std::int64_t>(fold.columns);
  call.inputs = {in.operand()};
  call.outputs = {out.operand()};
  run_on_host(call);
  testing::assert_elements(out, [&](std::size_t i) { return naive_fold<T>(fold, in, i); });
}

RC_GTEST_PROP(Folds, RowsAndColumnsAreLeftFolds, ()) {
  const auto fold = *any_fold();
  testing::for_numeric_types(
      [&](auto* type) { check_fold<std::remove_pointer_t<decltype(type)>>(fold); });
  const bool is_extreme = fold.op == FoldOp::kMaximum || fold.op == FoldOp::kMinimum;
  if (is_extreme) check_fold<bool>(fold);
}

TEST(Folds, NegativeZeroIsKept) {
  Elements<float> in(2);
  Elements<float> out(1);
  in[0] = in[1] = -0.0F;
  KernelCall call;
  call.kind = KernelKind::kRowReduce;
  call.parameters.rows = 1;
  call.parameters.columns = 2;
  call.inputs = {in.operand()};
  call.outputs = {out.operand()};
  run_on_host(call);
  EXPECT_TRUE(std::signbit(out[0]));
}

}  // namespace
}  // namespace belfry::folds_test
