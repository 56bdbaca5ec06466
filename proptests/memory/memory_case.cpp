// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "memory/memory_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

namespace belfry::testing {
namespace {

constexpr std::uint64_t kMostPoints = 100000;

struct Values {
  std::vector<float> weights;
  std::vector<double> history;

  bool operator==(const Values&) const = default;
};

Values values_of(MemoryFixture& fixture) {
  return {fixture.strategy->read(fixture.weights).to_host(),
          fixture.strategy->read(fixture.history)};
}

Values advanced(Values values) {
  for (float& weight : values.weights) weight += 1;
  values.history.push_back(4);
  return values;
}

// The exception of the step, computed without a need for memory.
std::exception_ptr outcome_of(const MemoryCase& one, MemoryFixture& fixture) {
  try {
    one.step(fixture);
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

std::string text_of(const std::exception_ptr& outcome) {
  if (outcome == nullptr) return "nothing";
  try {
    std::rethrow_exception(outcome);
  } catch (const Error& error) {
    return to_string(error.code());
  } catch (const std::bad_alloc&) {
    return "std::bad_alloc";
  } catch (const std::exception& error) {
    return std::string("std::exception ") + error.what();
  } catch (...) {
    return "something else";
  }
}

// Errors of replicas that should have met (BF-010 to BF-014) are permitted.
bool is_permitted(const std::string& outcome, const std::string& usual) {
  return outcome == usual || outcome == "nothing" || outcome == "std::bad_alloc" ||
         (outcome.starts_with("BF-") && !outcome.starts_with("BF-01"));
}

MemoryFixture make_fixture(const MemorySetting& setting) {
  MemoryFixture fixture;
  fixture.backend = setting.backend();
  fixture.strategy = setting.strategy(*fixture.backend);
  fixture.weights = fixture.strategy->mirrored_variable(
      [] { return Tensor<float>::full(Shape({5}), 2.0F); }, {.name = "weights"});
  fixture.history =
      fixture.strategy->mirrored_variable(std::vector<double>{1, 2, 3}, {.name = "history"});
  for (int id = 0; id < fixture.strategy->num_replicas(); ++id) {
    fixture.memories.emplace_back(fixture.strategy->placement(id), std::vector<float>(5, 1.0F));
  }
  return fixture;
}

// A report must have the summary, and the state of each named replica.
void expect_whole(const std::optional<ErrorReport>& report) {
  if (!report) return;
  EXPECT_FALSE(report->summary.empty());
  for (const ReplicaReport& replica : report->replicas) EXPECT_FALSE(replica.what.empty());
}

void expect_usable(MemoryFixture& fixture) {
  Strategy& strategy = *fixture.strategy;
  const int replicas = strategy.num_replicas();
  const auto sums = strategy.run([](ReplicaContext& replica) {
    const auto tensor = Tensor<float>::full(Shape({3}), 1.0F);
    return std::pair(replica.all_reduce(ReduceOp::kSum, 1 + replica.replica_id()),
                     replica.all_reduce(ReduceOp::kSum, tensor).to_host());
  });
  for (const auto& [host, device] : sums) {
    EXPECT_EQ(host, replicas * (replicas + 1) / 2);
    EXPECT_EQ(device, std::vector<float>(3, static_cast<float>(replicas)));
  }
}

void drain(MemoryFixture& fixture) {
  Backend& backend = fixture.strategy->backend();
  for (int device = 0; device < backend.device_count(); ++device) {
    backend.device(device).communication_stream().synchronize();
    backend.device(device).compute_stream().synchronize();
  }
}

// Waits for all streams, each of which may have a failure to tell.
void hear_of_failures(MemoryFixture& fixture) {
  const int most = 2 * fixture.strategy->backend().device_count();
  for (int failure = 0; failure < most; ++failure) {
    try {
      return drain(fixture);
    } catch (const Error&) {               // As the step does with memory enough.
    } catch (const std::runtime_error&) {  // The exception of a body.
    } catch (const std::bad_alloc&) {      // A body had no memory for its exception.
    }
  }
}

std::size_t live_buffers(const MemorySetting& setting, MemoryFixture& fixture) {
  drain(fixture);
  return setting.live_buffers == nullptr ? 0 : setting.live_buffers(*fixture.backend);
}

// How the step ends with memory enough, twice.
struct Usual {
  Usual(const MemoryCase& one, const MemorySetting& setting, bool warm) {
    MemoryFixture fixture = make_fixture(setting);
    if (warm) outcome_of(one, fixture);
    outcome = text_of(outcome_of(one, fixture));
    expect_usable(fixture);
    outcome_of(one, fixture);
    buffers = live_buffers(setting, fixture);
  }

  std::string outcome;
  std::size_t buffers = 0;
};

void expect_all_or_nothing(const MemoryCase& one, const Values& before, const Values& after,
                           bool passed) {
  const Values whole = one.changes == Changes::kNothing ? before : advanced(before);
  EXPECT_TRUE(after.weights == before.weights || after.weights == whole.weights);
  EXPECT_TRUE(after.history == before.history || after.history == whole.history);
  if (one.changes != Changes::kBoth) return;
  EXPECT_EQ(after, passed ? whole : before);
}

// Whether the step got as far as the point.
bool survives(const MemoryCase& one, const MemorySetting& setting, bool warm, const Usual& usual,
              std::uint64_t point, Shortage shortage) {
  MemoryFixture fixture = make_fixture(setting);
  if (warm) outcome_of(one, fixture);
  const Values before = values_of(fixture);
  std::exception_ptr left;
  FailingAllocator failing(point, shortage);
  left = outcome_of(one, fixture);
  failing.stop();
  if (!failing.has_failed()) return false;
  const std::string outcome = text_of(left);
  left = nullptr;
  EXPECT_TRUE(is_permitted(outcome, usual.outcome)) << outcome;
  expect_whole(fixture.strategy->last_failure());
  if (one.fails_on_devices) hear_of_failures(fixture);
  const Values after = values_of(fixture);
  expect_all_or_nothing(one, before, after, outcome == "nothing");
  expect_usable(fixture);
  EXPECT_EQ(text_of(outcome_of(one, fixture)), usual.outcome);
  expect_all_or_nothing(one, after, values_of(fixture), usual.outcome == "nothing");
  EXPECT_EQ(live_buffers(setting, fixture), usual.buffers);
  for (const OwnMemory<float>& memory : fixture.memories) EXPECT_TRUE(memory.is_released());
  return true;
}

}  // namespace

void advance(CrossReplicaContext& cross, const MemoryFixture& fixture) {
  cross.update(fixture.history, [](std::vector<double>& history) { history.push_back(4); });
  cross.update(fixture.weights, [](Tensor<float>& weights) { weights = weights + 1.0F; });
}

std::uint64_t expect_survival(const MemoryCase& one, const MemorySetting& setting, bool warm,
                              Shortage shortage) {
  const Usual usual(one, setting, warm);
  for (std::uint64_t point = 0; point < kMostPoints; ++point) {
    SCOPED_TRACE(std::string(one.name) + (warm ? ", warm" : ", cold") + ", allocation " +
                 std::to_string(point));
    try {
      if (!survives(one, setting, warm, usual, point, shortage)) return point;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "afterwards: " << error.what();
    }
    if (setting.left_over != nullptr) {
      EXPECT_THAT(setting.left_over(), ::testing::IsEmpty());
    }
    if (::testing::Test::HasFailure()) return point;
  }
  ADD_FAILURE() << one.name << " needs memory without end";
  return kMostPoints;
}

}  // namespace belfry::testing
