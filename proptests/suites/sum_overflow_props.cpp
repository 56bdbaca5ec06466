// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reports of integer sums outside the element type (SEM-157).
#include "belfry/testing/asserts.h"
#include "suites/drawn_rows.h"
#include "suites/property.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace belfry::testing::sum_overflow_props {
namespace {

using Rows = std::vector<DrawnRow>;

// The seed decides whether sums of 3 elements fit the type.
Rows rows_of_replicas(DType dtype, int replicas, std::uint64_t seed) {
  Rows rows;
  const Int128 divisor = 1 + static_cast<Int128>(seed % static_cast<std::uint64_t>(replicas));
  for (int replica = 0; replica < replicas; ++replica) {
    DrawnRow row = drawn_row(dtype, {Pattern::kRandom, seed}, replica, 3);
    for (std::size_t i = 0; i < 3; ++i) {
      row.bits[i] = cut(dtype, static_cast<std::uint64_t>(integer_at(row, i) / divisor));
    }
    rows.push_back(row);
  }
  return rows;
}

// By additions in 128 bits: a partial sum may leave the type, and the sum not.
Int128 sum_at(const Rows& rows, std::size_t element) {
  Int128 sum = 0;
  for (const DrawnRow& row : rows) sum += integer_at(row, element);
  return sum;
}

DrawnRow sums_of(const Rows& rows) {
  DrawnRow sums{.dtype = rows.front().dtype};
  for (std::size_t i = 0; i < 3; ++i) {
    sums.bits.push_back(cut(sums.dtype, static_cast<std::uint64_t>(sum_at(rows, i))));
  }
  return sums;
}

// The first element with a sum outside the type.
std::optional<std::size_t> first_outside(const Rows& rows) {
  const DrawnRow sums = sums_of(rows);
  for (std::size_t i = 0; i < 3; ++i) {
    if (integer_at(sums, i) != sum_at(rows, i)) return i;
  }
  return std::nullopt;
}

PerReplica<DrawnRow> reduced(Strategy& strategy, const Rows& rows, bool tensors) {
  return strategy.run([&](ReplicaContext& replica) {
    const DrawnRow& own = rows[static_cast<std::size_t>(replica.replica_id())];
    const DrawnNest nest{tensors ? tensor_leaf(own) : list_leaf(own)};
    return rows_of(replica.all_reduce(ReduceOp::kSum, nest)).front();
  });
}

// As text. A number of 64 bits fits one of the two types.
std::string text_of(Int128 number) {
  return number < 0 ? std::to_string(static_cast<std::int64_t>(number))
                    : std::to_string(static_cast<std::uint64_t>(number));
}

void check_report(const ErrorReport& report, const Rows& rows, std::size_t element) {
  RC_ASSERT(report.code == ErrorCode::kSumOverflow);
  const std::string type = " does not fit " + to_string(rows.front().dtype) + " ";
  const std::string place = " at element " + std::to_string(element) + " (";
  RC_ASSERT(report.summary.find(type) != std::string::npos);
  RC_ASSERT(report.summary.find(place) != std::string::npos);
  RC_ASSERT(report.replicas.size() == rows.size());
  for (std::size_t replica = 0; replica < rows.size(); ++replica) {
    RC_ASSERT(report.replicas[replica].replica_id == static_cast<int>(replica));
    RC_ASSERT(report.replicas[replica].what ==
              "brings " + text_of(integer_at(rows[replica], element)));
    RC_ASSERT(report.replicas[replica].site.line > 0);
  }
}

void check_type(Strategy& strategy, DType dtype, std::uint64_t seed) {
  const Rows rows = rows_of_replicas(dtype, strategy.num_replicas(), seed);
  const std::optional<std::size_t> outside = first_outside(rows);
  for (const bool tensors : {false, true}) {
    std::optional<ErrorReport> report;
    try {
      for (const auto& got : reduced(strategy, rows, tensors)) RC_ASSERT(got == sums_of(rows));
    } catch (const InvalidArgumentError& error) {
      report = error.report();
    }
    RC_ASSERT(report.has_value() == outside.has_value());
    if (report) check_report(*report, rows, *outside);
  }
}

class SumOverflows : public Property {};

TEST_F(SumOverflows, AreReportedForExactSumsOutsideTheType) {
  testing::asserts("SEM-157");
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy({.report_overflow = true});
    const int replicas = strategy.num_replicas();
    for (const DType dtype : {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64,
                              DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64}) {
      check_type(strategy, dtype, seed);
    }
    // Floating-point sums have infinities, and are never reported.
    const float most = std::numeric_limits<float>::max();
    const auto sums = strategy.run([most](ReplicaContext& replica) {
      return replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({1}, most)).item();
    });
    RC_ASSERT(sums[0] == (replicas == 1 ? most : std::numeric_limits<float>::infinity()));
  });
}

}  // namespace
}  // namespace belfry::testing::sum_overflow_props
