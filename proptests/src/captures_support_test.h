// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "belfry/error.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/compare_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace belfry::testing {

/// Schedules that each body is compared under.
inline std::vector<sim::Options> schedules(int devices = 3) {
  std::vector<sim::Options> all{{.devices = devices, .schedule = sim::Schedule::fixed()}};
  for (const std::uint64_t seed : {1, 2, 7, 42, 43, 44}) {
    all.push_back({.devices = devices, .seed = seed});
  }
  return all;
}

/// The report of `compare_functions`, if there is one. `body` takes a MirroredStrategy over all
/// devices.
template <class Body>
std::optional<ErrorReport> finding(const sim::Options& options, const Body& body) {
  try {
    compare_functions(options, [&](sim::Backend& backend) {
      MirroredStrategy strategy{backend};
      return body(strategy);
    });
  } catch (const InvalidArgumentError& error) {
    return error.report();
  }
  return std::nullopt;
}

template <class Body>
void expect_none(const Body& body, int devices = 3) {
  for (const sim::Options& options : schedules(devices)) {
    const std::optional<ErrorReport> report = finding(options, body);
    EXPECT_FALSE(report) << options << '\n' << to_string(*report);
  }
}

/// Every schedule gives BF-016 for `replica`, with `text` in its summary.
template <class Body>
void expect_found(const Body& body, const std::string& text, int replica = 1) {
  for (const sim::Options& options : schedules()) {
    const std::optional<ErrorReport> report = finding(options, body);
    ASSERT_TRUE(report) << options;
    EXPECT_EQ(report->code, ErrorCode::kCapturedValue) << options << '\n' << to_string(*report);
    EXPECT_THAT(report->summary, ::testing::HasSubstr(text)) << options;
    EXPECT_EQ(report->replicas.back().replica_id, replica) << options;
  }
}

/// Differs between replicas: 1, 2, 3.
inline double gradient_of(const ReplicaContext& replica) { return 1.0 + replica.replica_id(); }

inline Tensor<float> tensor_of(const ReplicaContext& replica) {
  return Tensor<float>::full(Shape{2}, 1.0F + static_cast<float>(replica.replica_id()));
}

inline const char* const kFirstMerge = "merge #1 of run 1";

}  // namespace belfry::testing
