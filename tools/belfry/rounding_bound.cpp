// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "rounding_bound.h"

#include "belfry/error.h"

#include <cmath>

namespace belfry::demo {
namespace {

constexpr double kUnit = 0x1p-24;
constexpr double kEnlarged = 1 + 0x1p-40;

// The relative error of `roundings` roundings.
double relative_error(int roundings) {
  const double total = roundings * kUnit;
  check(total < 0.5, "examples in a step beyond what the rounding bound covers");
  return total / (1 - total);
}

}  // namespace

RoundingBound::RoundingBound(int examples, int replicas, int share)
    : factor_((relative_error(share + replicas + 2) + relative_error(examples + 2)) /
              (1 - relative_error(examples)) / examples) {}

double RoundingBound::gradient(double magnitude) const {
  return (factor_ * magnitude + 0x1p-147) * kEnlarged;
}

double RoundingBound::weight(double gradient, double rate, Pair velocity, Pair weight) {
  const double velocities = std::abs(velocity.many) + std::abs(velocity.one);
  const double weights = std::abs(weight.many) + std::abs(weight.one);
  const double velocity_bound = gradient + kUnit * velocities;
  return (rate * velocity_bound + kUnit * (1 + kUnit) * rate * velocities + kUnit * weights +
          0x1p-148) *
         kEnlarged;
}

}  // namespace belfry::demo
