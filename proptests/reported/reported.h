// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "suites/text_of_error.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

/// Programs after public reports about other systems, each under ten schedules: seven seeds, the
/// fixed order, the baton and concurrent threads. The outcome is the same under all.
namespace belfry::reported_test {

/// A way to run a program.
struct Way {
  std::string name;
  sim::Options options;  ///< Of 3 devices.

  friend std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }
};

inline std::vector<Way> ways() {
  std::vector<Way> all;
  for (const std::uint64_t seed : {0, 1, 2, 7, 42, 1234, 987654321}) {
    all.push_back({"Seed" + std::to_string(seed), {.devices = 3, .seed = seed}});
  }
  all.push_back({"Fixed", {.devices = 3, .schedule = sim::Schedule::fixed()}});
  all.push_back({"Baton", {.devices = 3, .carrier = sim::Carrier::kBaton, .seed = 5}});
  all.push_back({"Threads", {.devices = 3, .carrier = sim::Carrier::kConcurrent, .seed = 6}});
  return all;
}

/// Has a strategy of 3 replicas.
class Reported : public ::testing::TestWithParam<Way> {
 protected:
  /// The options of the way with a number of devices.
  static sim::Options on(int devices) {
    sim::Options options = GetParam().options;
    options.devices = devices;
    return options;
  }

  /// The text of the error of a run.
  template <class Body>
  std::string error_of(const Body& body) {
    return belfry::testing::text_of_error<Error>([&] { strategy_.run(body); });
  }

  sim::Backend backend_{GetParam().options};
  MirroredStrategy strategy_{backend_};
};

}  // namespace belfry::reported_test
