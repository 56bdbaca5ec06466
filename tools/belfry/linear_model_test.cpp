// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "linear_model.h"

#include "batch.h"
#include "belfry/sim/backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace belfry::demo::linear_model_test {
namespace {

// The same training in 64-bit integers, with separate loops.
struct IntegerModel {
  std::vector<std::int64_t> weights = std::vector<std::int64_t>(kPixels * kDigits, 0);
  std::vector<std::int64_t> gradient;

  void step(const Digits& digits, std::span<const int> rows) {
    gradient.assign(weights.size(), 0);
    for (const int row : rows) {
      const std::uint8_t* pixels = &digits.pixels[static_cast<std::size_t>(row) * kPixels];
      for (int d = 0; d < kDigits; ++d) {
        std::int64_t error = digits.labels[static_cast<std::size_t>(row)] == d ? -16 : 0;
        for (int p = 0; p < kPixels; ++p) error += pixels[p] * at(weights, p, d);
        for (int p = 0; p < kPixels; ++p) at(gradient, p, d) += pixels[p] * error;
      }
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::int64_t sign = (gradient[i] > 0) - (gradient[i] < 0);
      weights[i] = std::clamp<std::int64_t>(weights[i] - sign, -3, 3);
    }
  }

  static std::int64_t& at(std::vector<std::int64_t>& matrix, int p, int d) {
    return matrix[static_cast<std::size_t>(p * kDigits + d)];
  }
};

std::vector<int> first_rows(int count) {
  std::vector<int> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

TEST(LinearModel, IsExactOnAnyNumberOfReplicas) {
  const Digits digits = read_digits(BELFRY_DEMO_DATA);
  const auto rows = first_rows(kLinearBatch);  // One batch for all steps.
  IntegerModel model;
  for (int step = 0; step < 10; ++step) model.step(digits, rows);
  EXPECT_GT(*std::max_element(model.gradient.begin(), model.gradient.end()), 10000);

  for (const int replicas : {1, 3, 4, 7}) {
    sim::Backend backend{{.devices = replicas, .seed = 3}};
    MirroredStrategy strategy(backend);
    const LinearReport report = train_linear_model(strategy, digits, rows, 10);
    EXPECT_EQ(report.steps, 10);
    EXPECT_EQ(report.compared, 10 * 2 * 640);
    EXPECT_EQ(report.different, 0) << replicas;
    EXPECT_TRUE(std::equal(model.weights.begin(), model.weights.end(), report.weights.begin()));
    EXPECT_TRUE(
        std::equal(model.gradient.begin(), model.gradient.end(), report.last_gradient.begin()));
  }
}

TEST(LinearModel, TakesFewImages) {
  const Digits digits = read_digits(BELFRY_DEMO_DATA);
  sim::Backend backend{{.devices = 4}};
  MirroredStrategy strategy(backend);
  const LinearReport report = train_linear_model(strategy, digits, first_rows(2), 3);
  EXPECT_EQ(report.different, 0);
  EXPECT_EQ(report.steps, 3);
}

TEST(Share, SplitsWithoutLossAsEvenlyAsPossible) {
  const auto rows = first_rows(30);
  for (const int parts : {1, 4, 7, 30, 40}) {
    std::vector<int> joined;
    std::size_t smallest = 30;
    std::size_t largest = 0;
    for (int part = 0; part < parts; ++part) {
      const auto mine = share(rows, part, parts);
      joined.insert(joined.end(), mine.begin(), mine.end());
      smallest = std::min(smallest, mine.size());
      largest = std::max(largest, mine.size());
    }
    EXPECT_EQ(joined, rows);
    EXPECT_LE(largest - smallest, 1U);
    EXPECT_EQ(share(rows, 0, parts).size(), largest);
  }
}

}  // namespace
}  // namespace belfry::demo::linear_model_test
