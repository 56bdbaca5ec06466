// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "suites/property.h"
#include "suites/throwing/throwing_fixture.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace belfry::testing {

/// Live bytes and buffers of each device, after its streams have finished.
std::vector<std::size_t> live_memory(Backend& backend);

/// Whether reductions of host values give the right sums, and with `tensors` reductions of tensors.
/// Tests with little memory leave tensors out.
bool works(Strategy& strategy, bool tensors = true);

/// Verbs to be called one after another on a backend, as indices into `throwing_verbs()`.
struct VerbsCase {
  BackendRequest backend;
  std::vector<std::size_t> verbs;
};

std::string to_string(const VerbsCase& value);
inline void showValue(const VerbsCase& value, std::ostream& out) { out << to_string(value); }

/// `update_in_a_merge`: the verb with this index, for the names of tests.
std::string name_of_verb(const ::testing::TestParamInfo<std::size_t>& index);

/// Requests for one to three devices with both schedules, on the carrier that
/// BELFRY_TESTING_CARRIER names. Without it they are on fibers, and two devices are on each other
/// carrier too.
std::vector<BackendRequest> small_backends(std::uint64_t seed);

/// Numbers of programs by their end: without an error, or out of memory before or in the verbs.
struct Endings {
  int well = 0;
  int before_verbs = 0;
  int in_verbs = 0;
};

/// The strategy under test.
struct Subject {
  std::function<std::unique_ptr<Strategy>(Backend&, FaultInjector&)> make;
  /// Whether hooks of the strategy pass fault points. A hook may throw after its work; the effect
  /// of the verb then stays.
  bool has_points = false;
  /// Bytes of each device that a run of the strategy allocates for itself and frees. If memory is
  /// short, the strategy too may fail after its work.
  std::size_t own_bytes = 0;
};

/// Repeats the verbs of a case, with a fault at point 1, 2, 3, ... until all points have thrown.
class FaultSweep {
 public:
  FaultSweep(Bench& bench, const VerbsCase& drawn, const Subject& subject)
      : drawn_(drawn),
        subject_(subject),
        backend_(bench.backend()),
        owned_(subject.make(backend_, injector_)),
        strategy_(*owned_) {}

  /// Repeats the verbs for all points. Returns the first problem, or an empty string.
  std::string sweep(FaultInjector::Extent extent);
  /// Calls the verbs once, without faults, on a backend with little memory. `occupied_device` has
  /// the least; -1: no device. The last call for this object.
  std::string run_once(Endings& endings, int occupied_device);

 private:
  void require(bool fine, const std::string& what) {
    if (!fine && problem_.empty()) problem_ = what;
  }
  // Calls the verbs without faults and returns the number of points.
  int count_points();
  // Allocates `own_bytes` on each device, which the verbs then cannot use.
  std::vector<TensorRow> reserve();
  // Calls the verbs with a fault at point `at`. Returns whether the point was reached.
  bool throws_at(int at, FaultInjector::Extent extent);
  // Calls the verbs. Afterwards `before_` and `after_` belong to the verb that threw, or to the
  // last verb.
  void run_verbs(ThrowingFixture& fixture);

  const VerbsCase& drawn_;
  const Subject& subject_;
  Backend& backend_;
  FaultInjector injector_;
  std::unique_ptr<Strategy> owned_;
  Strategy& strategy_;
  ExpectedNumbers before_{1};
  ExpectedNumbers after_{1};
  bool changes_nothing_ = false;
  std::string problem_;  // The first problem.
};

}  // namespace belfry::testing
