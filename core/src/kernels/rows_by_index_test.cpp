// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_kernels.h"
#include "kernels/operands_test.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace belfry::rows_by_index_test {
namespace {

using testing::Elements;
using testing::Pattern;
using testing::Stored;

struct Lookup {
  std::size_t rows = 0;  ///< Of the index.
  std::size_t columns = 0;
  std::size_t table = 0;  ///< Rows.
  bool bad = false;       ///< Some indices name no row.
  Pattern pattern = Pattern::kZeros;
  std::uint64_t seed = 0;
};

void showValue(const Lookup& lookup, std::ostream& os) {
  os << lookup.rows << " of " << lookup.table << " rows of " << lookup.columns
     << (lookup.bad ? ", some missing, " : ", ");
  showValue(lookup.pattern, os);
  os << ", seed " << lookup.seed;
}

rc::Gen<Lookup> any_lookup() {
  return rc::gen::build<Lookup>(
      rc::gen::set(&Lookup::rows, rc::gen::inRange<std::size_t>(0, 30)),
      rc::gen::set(&Lookup::columns, rc::gen::inRange<std::size_t>(1, 20)),
      rc::gen::set(&Lookup::table, rc::gen::inRange<std::size_t>(1, 10)),
      rc::gen::set(&Lookup::bad, rc::gen::arbitrary<bool>()),
      rc::gen::set(&Lookup::pattern, testing::any_pattern()),
      rc::gen::set(&Lookup::seed, rc::gen::arbitrary<std::uint64_t>()));
}

template <class Index>
Elements<Index> index_of(const Lookup& lookup) {
  Elements<Index> index(lookup.rows);
  for (std::size_t i = 0; i < lookup.rows; ++i) {
    const auto row = testing::mixed(lookup.seed, i) % (lookup.table + (lookup.bad ? 2 : 0));
    index[i] = static_cast<Index>(row) - (lookup.bad ? 1 : 0);
  }
  return index;
}

bool has_row(const Lookup& lookup, std::int64_t row) {
  return row >= 0 && row < static_cast<std::int64_t>(lookup.table);
}

KernelCall call_of(KernelKind kind, const Lookup& lookup) {
  KernelCall call;
  call.kind = kind;
  call.parameters.rows = static_cast<std::int64_t>(lookup.rows);
  call.parameters.columns = static_cast<std::int64_t>(lookup.columns);
  return call;
}

template <class T, class Index>
void check_gather(const Lookup& lookup) {
  const auto index = index_of<Index>(lookup);
  const Elements<T> table(lookup.table * lookup.columns, lookup.pattern, lookup.seed, 1);
  const Elements<T> out(lookup.rows * lookup.columns);
  KernelCall call = call_of(KernelKind::kGatherRows, lookup);
  call.inputs = {index.operand(), table.operand()};
  call.outputs = {out.operand()};
  run_on_host(call);
  for (std::size_t i = 0; i < out.count(); ++i) {
    const std::int64_t row = index[i / lookup.columns];
    const std::uint64_t expected =
        has_row(lookup, row)
            ? testing::bits_of(
                  table[static_cast<std::size_t>(row) * lookup.columns + i % lookup.columns])
            : 0;
    RC_ASSERT(testing::bits_of(out[i]) == expected);
  }
}

RC_GTEST_PROP(GatherRows, CopiesTheRowsNamed, ()) {
  const auto lookup = *any_lookup();
  const auto check = [&](auto* type) {
    check_gather<std::remove_pointer_t<decltype(type)>, std::int32_t>(lookup);
    check_gather<std::remove_pointer_t<decltype(type)>, std::int64_t>(lookup);
  };
  testing::for_numeric_types(check);
  testing::for_each_type<bool>(check);
}

// A second implementation of a step of scattering: floats as in C++, integers modulo 2^w.
template <class V>
V step(ScatterOp op, V table, V x) {
  if constexpr (std::is_floating_point_v<V>) {
    const bool nan = std::isnan(table) || std::isnan(x);
    if (op == ScatterOp::kAdd) return table + x;
    if (op == ScatterOp::kSubtract) return table - x;
    if (op == ScatterOp::kMultiply) return table * x;
    if (op == ScatterOp::kDivide) return table / x;
    if (nan) return std::numeric_limits<V>::quiet_NaN();
  } else {
    const auto a = static_cast<std::uint64_t>(table);
    const auto b = static_cast<std::uint64_t>(x);
    if (op == ScatterOp::kAdd) return static_cast<V>(a + b);
    if (op == ScatterOp::kSubtract) return static_cast<V>(a - b);
    if (op == ScatterOp::kMultiply) return static_cast<V>(a * b);
    if (op == ScatterOp::kDivide && x == 0) return V{0};
    if (op == ScatterOp::kDivide && static_cast<V>(b + 1) == 0 && std::is_signed_v<V>) {
      return static_cast<V>(0 - a);
    }
    if (op == ScatterOp::kDivide) return static_cast<V>(table / x);
  }
  if (op == ScatterOp::kMinimum) return x < table ? x : table;
  return x > table ? x : table;
}

// Column by column, row by row: combines the table's element with its inputs in order, and rounds
// at the end.
template <class T, class Index>
T naive_scatter(ScatterOp op, const Lookup& lookup, const Elements<Index>& index,
                const Elements<T>& table, const Elements<T>& in, std::size_t element) {
  const auto row = static_cast<std::int64_t>(element / lookup.columns);
  auto value = testing::value_of(table[element]);
  for (std::size_t i = 0; i < lookup.rows; ++i) {
    if (index[i] != row) continue;
    value = step(op, value, testing::value_of(in[i * lookup.columns + element % lookup.columns]));
  }
  return testing::rounded_to<T>(value);
}

// The bits of the last input row for the element's row.
template <class T, class Index>
std::uint64_t naive_set(const Lookup& lookup, const Elements<Index>& index,
                        const Elements<T>& table, const Elements<T>& in, std::size_t element) {
  for (std::size_t i = lookup.rows; i-- > 0;) {
    if (index[i] == static_cast<std::int64_t>(element / lookup.columns)) {
      return testing::bits_of(in[i * lookup.columns + element % lookup.columns]);
    }
  }
  return testing::bits_of(table[element]);
}

template <class Index>
bool names_row(const Lookup& lookup, const Elements<Index>& index, std::int64_t row) {
  return std::find(index.data(), index.data() + lookup.rows, row) != index.data() + lookup.rows;
}

template <class T, class Index>
void check_scatter(ScatterOp op, const Lookup& lookup) {
  const auto index = index_of<Index>(lookup);
  const Elements<T> table(lookup.table * lookup.columns, lookup.pattern, lookup.seed);
  const Elements<T> in(lookup.rows * lookup.columns, lookup.pattern, lookup.seed + 1, 1);
  const Elements<T> out(lookup.table * lookup.columns, lookup.pattern, lookup.seed);
  KernelCall call = call_of(KernelKind::kScatterRows, lookup);
  call.parameters.scatter = op;
  call.inputs = {index.operand(), in.operand()};
  call.outputs = {out.operand()};
  run_on_host(call);
  for (std::size_t i = 0; i < out.count(); ++i) {
    // A row without an index keeps its bits, even the bits of a NaN.
    const auto row = static_cast<std::int64_t>(i / lookup.columns);
    if (op == ScatterOp::kSet || !names_row(lookup, index, row)) {
      RC_ASSERT(testing::bits_of(out[i]) == naive_set(lookup, index, table, in, i));
    } else if constexpr (!std::is_same_v<T, bool>) {
      RC_ASSERT(testing::is_result(out[i], naive_scatter(op, lookup, index, table, in, i)));
    }
  }
}

RC_GTEST_PROP(ScatterRows, MeetTheRowsNamedInOrder, ()) {
  const auto lookup = *any_lookup();
  for (int op = 0; op <= static_cast<int>(ScatterOp::kMaximum); ++op) {
    testing::for_numeric_types([&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      check_scatter<T, std::int32_t>(static_cast<ScatterOp>(op), lookup);
      check_scatter<T, std::int64_t>(static_cast<ScatterOp>(op), lookup);
    });
  }
}

RC_GTEST_PROP(ScatterRows, ReplaceTheRowsNamedByTheLast, ()) {
  const auto lookup = *any_lookup();
  const auto check = [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    check_scatter<T, std::int32_t>(ScatterOp::kSet, lookup);
    check_scatter<T, std::int64_t>(ScatterOp::kSet, lookup);
  };
  testing::for_numeric_types(check);
  testing::for_each_type<bool>(check);
}

RC_GTEST_PROP(FirstBadIndex, IsTheFirstThatNamesNoRow, ()) {
  const auto lookup = *any_lookup();
  const auto index = index_of<std::int64_t>(lookup);
  const Elements<float> table(lookup.table * lookup.columns);
  const Elements<float> rows(lookup.rows * lookup.columns);
  std::int64_t expected = -1;
  for (std::size_t i = lookup.rows; i-- > 0;) {
    if (!has_row(lookup, index[i])) expected = static_cast<std::int64_t>(i);
  }
  KernelCall call = call_of(KernelKind::kGatherRows, lookup);
  call.inputs = {index.operand(), table.operand()};
  call.outputs = {rows.operand()};
  RC_ASSERT(first_bad_index(call) == expected);
  call = call_of(KernelKind::kScatterRows, lookup);
  call.inputs = {index.operand(), rows.operand()};
  call.outputs = {table.operand()};
  RC_ASSERT(first_bad_index(call) == expected);
}

TEST(FirstBadIndex, OtherKindsHaveNone) {
  KernelCall call;
  call.kind = KernelKind::kFill;
  EXPECT_EQ(first_bad_index(call), -1);
}

TEST(RowsByIndex, RowsWithoutElements) {
  Elements<std::int32_t> index(2);
  index[0] = 5;
  index[1] = 0;
  const Elements<float> nothing(0);
  KernelCall call = call_of(KernelKind::kGatherRows, {.rows = 2});
  call.inputs = {index.operand(), nothing.operand()};
  call.outputs = {nothing.operand()};
  run_on_host(call);
  EXPECT_EQ(first_bad_index(call), -1);
  index[1] = -1;
  EXPECT_EQ(first_bad_index(call), 1);
}

}  // namespace
}  // namespace belfry::rows_by_index_test
