// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// INV-2 and INV-6, and SEM-6, SEM-7, SEM-42, SEM-59: whatever throws, wherever it does, every
// exception comes out as it was thrown, variables are as before or as after, nothing stays behind,
// and the strategy goes on working. Each property goes through all places: the first, the second,
// and so on until the program ends without having come by one.
#include "suites/property.h"
#include "suites/throwing_stage.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace belfry::testing {
namespace {

/// Live memory of each device, after the work in flight has let go of what it holds.
std::vector<std::size_t> live_memory(Backend& backend) {
  std::vector<std::size_t> live;
  for (int device = 0; device < backend.device_count(); ++device) {
    backend.device(device).compute_stream().synchronize();
    backend.device(device).communication_stream().synchronize();
  }
  for (int device = 0; device < backend.device_count(); ++device) {
    const MemoryUse use = backend.device(device).memory();
    live.push_back(use.live_bytes);
    live.push_back(use.live_buffers);
  }
  return live;
}

/// Whether the strategy does what it should, with host values and, unless memory is short, tensors.
bool works(Strategy& strategy, bool tensors = true) {
  const int count = strategy.num_replicas();
  const auto sum = static_cast<float>(count * (count + 1) / 2);
  const auto right = strategy.run([&](ReplicaContext& replica) {
    const float own = static_cast<float>(replica.replica_id()) + 1;
    if (replica.all_reduce(ReduceOp::kSum, own) != sum) return false;
    return !tensors || replica.all_reduce(ReduceOp::kSum, tensor_of(own)).to_host() == row_of(sum);
  });
  for (bool one : right) {
    if (!one) return false;
  }
  return !strategy.backend().executor().on_replica();
}

struct VerbsCase {
  BackendRequest backend;
  std::vector<std::size_t> verbs;
};

void showValue(const VerbsCase& value, std::ostream& out) {
  out << to_string(value.backend);
  for (std::size_t verb : value.verbs) out << ", " << throwing_verbs()[verb].name;
}

rc::Gen<VerbsCase> verbs_case() {
  const auto verb =
      rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, throwing_verbs().size()));
  return rc::gen::apply(
      [](const BackendRequest& request, std::vector<std::size_t> verbs) {
        return VerbsCase{request, std::move(verbs)};
      },
      backend_request(4), rc::gen::resize(3, rc::gen::container<std::vector<std::size_t>>(verb)));
}

/// How programs ended that might run out of memory.
struct Ends {
  int well = 0;
  int before_verbs = 0;
  int in_verbs = 0;
};

/// Some verbs on a backend, over and over.
class Campaign {
 public:
  Campaign(Bench& bench, const VerbsCase& drawn)
      : drawn_(drawn),
        backend_(bench.backend()),
        owned_(strategy_factory().make(backend_, {})),
        strategy_(*owned_) {}

  /// Goes through all points. Returns what was wrong, or nothing.
  std::string go(Planter::Extent extent) {
    const int points = rehearse();
    int at = 1;
    while (problem_.empty() && throws_at(at, extent)) ++at;
    require(at == points + 1, "that each of the points was reached");
    require(!planter_.lost_its_way(), "which context is current");
    return problem_.empty() ? "" : problem_ + " at point " + std::to_string(at);
  }

  /// Once, the last thing here, on a backend whose memory may be short, and on one device shorter.
  std::string go_once(Ends& ends, int burdened) {
    bool has_stage = false;
    try {
      Stage stage(strategy_, planter_);
      if (burdened >= 0) stage.burden(burdened);
      has_stage = true;
      bool failed = false;
      try {
        play(stage);
      } catch (const DeviceError& error) {
        failed = true;
        require(error.code() == ErrorCode::kOutOfMemory, error.what());
      }
      (failed ? ends.in_verbs : ends.well) += 1;
      require(!stage.was_wrong(), "the results");
      require(stage.is_either(before_, failed && changes_nothing_ ? before_ : after_),
              "the variables");
      require(works(strategy_, false), "the strategy afterwards");
    } catch (const DeviceError& error) {
      require(error.code() == ErrorCode::kOutOfMemory && !has_stage, error.what());
      ends.before_verbs += 1;
    }
    require(planter_.alive == 0, "what is left on the host");
    owned_.reset();  // A communicator may keep memory.
    for (std::size_t live : live_memory(backend_)) require(live == 0, "what is left on devices");
    return problem_;
  }

 private:
  void require(bool fine, const std::string& what) {
    if (!fine && problem_.empty()) problem_ = what;
  }

  /// Without a throw: how many points there are.
  int rehearse() {
    Stage stage(strategy_, planter_);
    planter_.arm(0);
    play(stage);
    const int points = planter_.points();
    require(!stage.was_wrong(), "the results without a throw");
    require(stage.is_either(after_, after_), "the variables without a throw");
    require(works(strategy_), "the strategy without a throw");
    return points;
  }

  /// With the `at`-th point throwing. Returns whether it was reached.
  bool throws_at(int at, Planter::Extent extent) {
    const auto level = live_memory(backend_);
    const int alive = planter_.alive;
    bool thrown = false;
    {
      planter_.arm(0);
      Stage stage(strategy_, planter_);
      planter_.arm(at, extent);
      int point = 0;
      try {
        play(stage);
      } catch (const Planted& planted) {
        thrown = true;
        point = planted.point;
      }
      planter_.disarm();
      const bool once = extent == Planter::Extent::kOnce;
      require(thrown == (planter_.thrown() > 0), "that what was thrown came out");
      require(!thrown || (once ? point == at && planter_.thrown() == 1 : point >= at),
              "what came out");
      require(!stage.was_wrong(), "the results");
      require(stage.is_either(before_, thrown && changes_nothing_ ? before_ : after_),
              "the variables");
      require(works(strategy_), "the strategy afterwards");
    }
    require(planter_.alive == alive, "what is left on the host");
    require(live_memory(backend_) == level, "what is left on the devices");
    return thrown;
  }

  // Afterwards `before_` and `after_` are those of the verb that threw, or of the last one.
  void play(Stage& stage) {
    after_ = Numbers(strategy_.num_replicas());
    before_ = after_;
    for (std::size_t index : drawn_.verbs) {
      const ThrowingVerb& verb = throwing_verbs()[index];
      before_ = after_;
      verb.effect(after_);
      changes_nothing_ = verb.changes_nothing_when_it_throws;
      verb.call(stage);
    }
    before_ = after_;
  }

  const VerbsCase& drawn_;
  Backend& backend_;
  std::unique_ptr<Strategy> owned_;
  Strategy& strategy_;
  Planter planter_;
  Numbers before_{1};
  Numbers after_{1};
  bool changes_nothing_ = false;
  std::string problem_;  // The first one.
};

class Throwing : public Property {
 protected:
  std::string go(const VerbsCase& drawn, Planter::Extent extent) {
    Bench bench(*this, drawn.backend);
    return Campaign(bench, drawn).go(extent);
  }

  // With every amount of memory that makes a difference, from none on.
  std::string go_with_short_memory(VerbsCase drawn, int burdened) {
    std::size_t peak = 0;
    {
      Bench bench(*this, drawn.backend);
      Campaign(bench, drawn).go_once(ends_, burdened);
      for (int device = 0; device < drawn.backend.devices; ++device) {
        peak = std::max(peak, bench.backend().device(device).memory().peak_bytes);
      }
    }
    std::string problem;
    // All tensors are rows, or some of them one after another.
    for (std::size_t rows = 0; rows * kRowBytes < peak && problem.empty(); ++rows) {
      drawn.backend.memory_limit_bytes = std::max<std::size_t>(1, rows * kRowBytes);
      Bench bench(*this, drawn.backend);
      problem = Campaign(bench, drawn).go_once(ends_, burdened);
    }
    return problem;
  }

  static constexpr std::size_t kRowBytes = kRowLength * sizeof(float);
  Ends ends_;
};

TEST_F(Throwing, AtAnyPointOfAnyVerbComesOutAndChangesAllOrNothing) {
  for (std::size_t verb = 0; verb < throwing_verbs().size(); ++verb) {
    for (int carrier : {0, 1, 2}) {
      VerbsCase drawn{devices(carrier + 1), {verb}};
      drawn.backend.carrier = carrier_of_environment().value_or(static_cast<CarrierKind>(carrier));
      EXPECT_EQ(go(drawn, Planter::Extent::kOnce), "") << throwing_verbs()[verb].name;
    }
  }
}

TEST_F(Throwing, AtAnyPointOfAnyProgramComesOutAndChangesAllOrNothing) {
  holds([this] { RC_ASSERT(go(*verbs_case(), Planter::Extent::kOnce) == ""); });
}

TEST_F(Throwing, AtAnyStepOfAnyReplicaIsReportedAsTheModelSays) {
  holds([this](const ReplicaProgram& program) {
    const BackendRequest request = *backend_request(4);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    RC_ASSERT(run_program(strategy, program) == predict(program, request.devices));
    RC_ASSERT(works(strategy));
    const auto level = live_memory(bench.backend());
    for (MutationKind kind :
         {MutationKind::kThrow, MutationKind::kMergeThrows, MutationKind::kUpdateThrows}) {
      for (int round = 0; round < static_cast<int>(program.rounds.size()); ++round) {
        for (int id = 0; id < request.devices; ++id) {
          const Mutation mutation{kind, id, round};
          if (!applies(mutation, program, request.devices)) continue;
          const ReplicaProgram faulty = mutated(program, mutation, request.devices);
          const Outcome outcome = run_program(strategy, faulty);
          RC_ASSERT(outcome.failed);
          RC_ASSERT(outcome == predict(faulty, request.devices));
        }
      }
    }
    RC_ASSERT(works(strategy));
    RC_ASSERT(live_memory(bench.backend()) == level);
  });
}

TEST_F(Throwing, OfDevicesWithoutMemoryComesOutAndChangesAllOrNothing) {
  holds([this] {
    const VerbsCase drawn = *verbs_case();
    const int burdened = *rc::gen::inRange(-1, drawn.backend.devices);
    RC_ASSERT(go_with_short_memory(drawn, burdened) == "");
  });
  for (std::size_t verb = 0; verb < throwing_verbs().size(); ++verb) {
    for (int burdened : {0, 1}) {
      EXPECT_EQ(go_with_short_memory({devices(2), {verb}}, burdened), "")
          << throwing_verbs()[verb].name;
    }
  }
  EXPECT_GT(ends_.well, 0);
  EXPECT_GT(ends_.before_verbs, 0);
  EXPECT_GT(ends_.in_verbs, 0);
}

// Copies that are made on the way out throw as well.
TEST_F(Throwing, FromAPointOnComesOutAndChangesAllOrNothing) {
  holds([this] { RC_ASSERT(go(*verbs_case(), Planter::Extent::kFromThenOn) == ""); });
}

}  // namespace
}  // namespace belfry::testing
