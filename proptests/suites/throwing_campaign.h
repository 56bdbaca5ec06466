// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "suites/property.h"
#include "suites/throwing_stage.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace belfry::testing {

/// Live memory of each device, after the work in flight has let go of what it holds.
std::vector<std::size_t> live_memory(Backend& backend);

/// Whether the strategy does what it should, with host values and, unless memory is short, tensors.
bool works(Strategy& strategy, bool tensors = true);

/// Verbs, by their places in `throwing_verbs`, to be called one after another on a backend.
struct VerbsCase {
  BackendRequest backend;
  std::vector<std::size_t> verbs;
};

std::string to_string(const VerbsCase& value);
inline void showValue(const VerbsCase& value, std::ostream& out) { out << to_string(value); }

/// One to three devices on every carrier, or on that of the environment, with both schedules.
std::vector<BackendRequest> small_backends(std::uint64_t seed);

/// How programs ended that might run out of memory.
struct Ends {
  int well = 0;
  int before_verbs = 0;
  int in_verbs = 0;
};

/// What verbs are called on.
struct Subject {
  std::function<std::unique_ptr<Strategy>(Backend&, Planter&)> make;
  /// Whether hooks of the strategy come by points. One may throw after its work, so that a verb
  /// that throws may have changed what it changes.
  bool has_points = false;
  /// Bytes of each device that a run of the strategy takes for itself, and gives back. Where memory
  /// is short it may fail after its work, too.
  std::size_t own_bytes = 0;
};

/// The verbs of a case, over and over.
class Campaign {
 public:
  Campaign(Bench& bench, const VerbsCase& drawn, const Subject& subject)
      : drawn_(drawn),
        subject_(subject),
        backend_(bench.backend()),
        owned_(subject.make(backend_, planter_)),
        strategy_(*owned_) {}

  /// Goes through all points. Returns what was wrong, or nothing.
  std::string go(Planter::Extent extent);
  /// Once, the last thing here, on a backend whose memory may be short, and on one device shorter.
  std::string go_once(Ends& ends, int burdened);

 private:
  void require(bool fine, const std::string& what) {
    if (!fine && problem_.empty()) problem_ = what;
  }
  // Without a throw: how many points there are.
  int rehearse();
  // Memory of each device that nobody may use while verbs are called: a run's own.
  std::vector<TensorRow> reserve();
  // With the `at`-th point throwing. Returns whether it was reached.
  bool throws_at(int at, Planter::Extent extent);
  // Afterwards `before_` and `after_` are those of the verb that threw, or of the last one.
  void play(Stage& stage);

  const VerbsCase& drawn_;
  const Subject& subject_;
  Backend& backend_;
  Planter planter_;
  std::unique_ptr<Strategy> owned_;
  Strategy& strategy_;
  StageNumbers before_{1};
  StageNumbers after_{1};
  bool changes_nothing_ = false;
  std::string problem_;  // The first one.
};

}  // namespace belfry::testing
