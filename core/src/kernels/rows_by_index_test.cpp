// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_kernels.h"
#include "kernels/operands_test.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace belfry {
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

// Column by column, row by row: the table's element and what is added to it, in order, rounded at
// the end.
template <class T, class Index>
T naive_scatter(const Lookup& lookup, const Elements<Index>& index, const Elements<T>& table,
                const Elements<T>& in, std::size_t element) {
  const auto row = static_cast<std::int64_t>(element / lookup.columns);
  bool touched = false;
  const auto value = [](T x) {
    if constexpr (testing::kIsFloat<T>)
      return testing::value_of(x);
    else
      return static_cast<std::uint64_t>(x);
  };
  auto sum = value(table[element]);
  for (std::size_t i = 0; i < lookup.rows; ++i) {
    if (index[i] != row) continue;
    touched = true;
    sum += value(in[i * lookup.columns + element % lookup.columns]);
  }
  return touched ? testing::rounded_to<T>(sum) : table[element];
}

template <class T, class Index>
void check_scatter(const Lookup& lookup) {
  const auto index = index_of<Index>(lookup);
  const Elements<T> table(lookup.table * lookup.columns, lookup.pattern, lookup.seed);
  const Elements<T> in(lookup.rows * lookup.columns, lookup.pattern, lookup.seed + 1, 1);
  const Elements<T> out(lookup.table * lookup.columns, lookup.pattern, lookup.seed);
  KernelCall call = call_of(KernelKind::kScatterAddRows, lookup);
  call.inputs = {index.operand(), in.operand()};
  call.outputs = {out.operand()};
  run_on_host(call);
  for (std::size_t i = 0; i < out.count(); ++i) {
    const T expected = naive_scatter(lookup, index, table, in, i);
    // A row nobody named keeps its bits, even those of a NaN.
    RC_ASSERT(testing::is_result(out[i], expected) ||
              testing::bits_of(out[i]) == testing::bits_of(expected));
  }
}

RC_GTEST_PROP(ScatterAddRows, AddsToTheRowsNamedInOrder, ()) {
  const auto lookup = *any_lookup();
  testing::for_numeric_types([&](auto* type) {
    check_scatter<std::remove_pointer_t<decltype(type)>, std::int32_t>(lookup);
    check_scatter<std::remove_pointer_t<decltype(type)>, std::int64_t>(lookup);
  });
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
  call = call_of(KernelKind::kScatterAddRows, lookup);
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
}  // namespace belfry
