// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The training, interrupted anywhere, against plain loops over all measurements.
#include "spring.h"

#include <belfry/sim/backend.h>
#include <belfry/testing/arbitrary.h>

#include <gtest/gtest.h>  // before RapidCheck's
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <vector>

namespace spring {
namespace {

// [expected]
struct Outcome {
  double rest = 0;
  double growth = 0;
  double squares = 0;
};

// An epoch: an update for each eight measurements, and a last one for the others.
Outcome one_loop(const std::vector<Measurement>& all) {
  Outcome line;
  for (std::size_t begin = 0; begin < all.size(); begin += 8) {
    const std::size_t end = std::min(all.size(), begin + 8);
    double rest = 0;
    double growth = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const double error = line.rest + line.growth * all[i].first - all[i].second;
      rest += error;
      growth += error * all[i].first;
      line.squares += error * error;
    }
    line.rest -= 0.5 * rest / static_cast<double>(end - begin);
    line.growth -= 0.5 * growth / static_cast<double>(end - begin);
  }
  return line;
}
// [expected]

// Eight measurements or fewer, and then a power of two: every division is exact. With loads of 0
// and 1 and whole lengths up to 4, the first update gives sixteenths up to 2, the errors after it
// are sixteenths up to 8, and all squares together are 256ths up to 8 * 16 + 4 * 64 = 384, of which
// a float has 2^16 times as many. So every sum is exact, in any order, and the comparison is `==`.
// [interrupted]
RC_GTEST_PROP(InterruptedTraining, EqualsOneLoop,
              (const sim::Options& before, const sim::Options& after)) {
  const auto count = *rc::gen::element<std::size_t>(1, 2, 4, 8, 9, 10, 12).as("measurements");
  const auto loads = *rc::gen::container<std::vector<int>>(count, rc::gen::inRange(0, 2));
  const auto lengths = *rc::gen::container<std::vector<int>>(count, rc::gen::inRange(-4, 5));
  const int batches = *rc::gen::inRange(0, 4).as("batches before the interruption");
  std::vector<Measurement> all;
  for (std::size_t i = 0; i < count; ++i) all.emplace_back(loads[i], lengths[i]);
  std::ostringstream out;

  sim::Backend first{before};
  MirroredStrategy some{first};
  Training interrupted{some};
  interrupted.train(all, batches, out);

  sim::Backend second{after};
  MirroredStrategy others{second};
  Training resumed{others};
  resumed.checkpoint().restore(interrupted.checkpoint().contents());
  resumed.train(all, 3, out);

  const Outcome expected = one_loop(all);
  RC_ASSERT(resumed.line()[0] == expected.rest);
  RC_ASSERT(resumed.line()[1] == expected.growth);
  RC_ASSERT(resumed.waiting() == 0);
  RC_ASSERT(resumed.end_epoch() ==
            static_cast<float>(expected.squares) / static_cast<float>(count));
}
// [interrupted]

}  // namespace
}  // namespace spring
