// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reports of integer sums outside the element type (SEM-157).
#include "belfry/testing/asserts.h"
#include "suites/property.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace belfry::testing::sum_overflow_props {
namespace {

__extension__ using Wide = __int128;

template <class T>
using Rows = std::vector<std::vector<T>>;

// The seed decides whether sums of 3 elements fit the type.
template <class T>
Rows<T> rows_of(int replicas, std::uint64_t seed) {
  Rows<T> rows;
  const auto divisor = static_cast<T>(1 + seed % static_cast<std::uint64_t>(replicas));
  for (int replica = 0; replica < replicas; ++replica) {
    const std::vector<T> own = values_of<T>({Pattern::kRandom, seed}, replica, 3);
    rows.emplace_back();
    for (const T value : own) {
      rows.back().push_back(static_cast<T>(value / divisor));
    }
  }
  return rows;
}

// The first element with a sum outside the type, by additions in 128 bits.
template <class T>
std::optional<std::size_t> first_outside(const Rows<T>& rows) {
  for (std::size_t i = 0; i < 3; ++i) {
    Wide sum = 0;
    for (const auto& row : rows) sum += row[i];
    if (sum < std::numeric_limits<T>::min() || sum > std::numeric_limits<T>::max()) return i;
  }
  return std::nullopt;
}

template <class T>
std::vector<T> sums_of(const Rows<T>& rows) {
  std::vector<T> sums;
  for (std::size_t i = 0; i < 3; ++i) {
    Wide sum = 0;  // A partial sum may leave the type, and the sum not.
    for (const auto& row : rows) sum += row[i];
    sums.push_back(static_cast<T>(sum));
  }
  return sums;
}

template <class T>
PerReplica<std::vector<T>> reduced(Strategy& strategy, const Rows<T>& rows, bool tensors) {
  return strategy.run([&](ReplicaContext& replica) -> std::vector<T> {
    const std::vector<T>& own = rows[static_cast<std::size_t>(replica.replica_id())];
    if (!tensors) return replica.all_reduce(ReduceOp::kSum, own);
    return replica.all_reduce(ReduceOp::kSum, Tensor<T>::from({3}, own)).to_host();
  });
}

template <class T>
void check_report(const ErrorReport& report, const Rows<T>& rows, std::size_t element) {
  RC_ASSERT(report.code == ErrorCode::kSumOverflow);
  const std::string place =
      " does not fit " + to_string(dtype_of<T>()) + " at element " + std::to_string(element) + " (";
  RC_ASSERT(report.summary.find(place) != std::string::npos);
  RC_ASSERT(report.replicas.size() == rows.size());
  for (std::size_t replica = 0; replica < rows.size(); ++replica) {
    RC_ASSERT(report.replicas[replica].replica_id == static_cast<int>(replica));
    RC_ASSERT(report.replicas[replica].what == "brings " + std::to_string(rows[replica][element]));
    RC_ASSERT(report.replicas[replica].site.line > 0);
  }
}

template <class T>
void check_type(Strategy& strategy, int replicas, std::uint64_t seed) {
  const Rows<T> rows = rows_of<T>(replicas, seed);
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
    check_type<std::int8_t>(strategy, replicas, seed);
    check_type<std::int16_t>(strategy, replicas, seed);
    check_type<std::int32_t>(strategy, replicas, seed);
    check_type<std::int64_t>(strategy, replicas, seed);
    check_type<std::uint8_t>(strategy, replicas, seed);
    check_type<std::uint16_t>(strategy, replicas, seed);
    check_type<std::uint32_t>(strategy, replicas, seed);
    check_type<std::uint64_t>(strategy, replicas, seed);
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
