// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "suites/throwing/fault_sweep.h"

#include "belfry/backend/executor.h"

#include <algorithm>
#include <cctype>

namespace belfry::testing {

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

bool works(Strategy& strategy, bool tensors) {
  const int count = strategy.num_replicas();
  const int total = count * (count + 1) / 2;
  const auto sum = static_cast<float>(total);
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

std::string to_string(const VerbsCase& value) {
  std::string text = to_string(value.backend);
  for (std::size_t verb : value.verbs) text += std::string(", ") + throwing_verbs()[verb].name;
  return text;
}

std::string name_of_verb(const ::testing::TestParamInfo<std::size_t>& index) {
  std::string name = throwing_verbs()[index.param].name;
  std::erase(name, '\'');
  std::ranges::replace_if(
      name, [](unsigned char letter) { return std::isalnum(letter) == 0; }, '_');
  return name;
}

std::vector<BackendRequest> small_backends(std::uint64_t seed) {
  const auto asked = carrier_of_environment();
  std::vector<BackendRequest> all;
  for (int count : {1, 2, 3}) {
    for (ScheduleKind schedule : {ScheduleKind::kFixed, ScheduleKind::kRandom}) {
      all.push_back({.devices = count,
                     .schedule = schedule,
                     .carrier = asked.value_or(CarrierKind::kFiber),
                     .seed = seed});
    }
  }
  if (asked) return all;
  for (CarrierKind carrier : {CarrierKind::kBaton, CarrierKind::kConcurrent}) {
    all.push_back(
        {.devices = 2, .schedule = ScheduleKind::kRandom, .carrier = carrier, .seed = seed});
  }
  return all;
}

std::string FaultSweep::sweep(FaultInjector::Extent extent) {
  const int points = count_points();
  int at = 1;
  while (problem_.empty() && throws_at(at, extent)) ++at;
  require(at == points + 1, "that each of the points was reached");
  require(!injector_.had_wrong_context(), "which context is current");
  return problem_.empty() ? "" : problem_ + " at point " + std::to_string(at);
}

std::string FaultSweep::run_once(Endings& endings, int occupied_device) {
  bool has_fixture = false;
  try {
    std::vector<TensorRow> reserved = reserve();
    ThrowingFixture fixture(strategy_, injector_);
    if (occupied_device >= 0) fixture.occupy_memory(occupied_device);
    has_fixture = true;
    bool failed = false;
    try {
      run_verbs(fixture);
    } catch (const DeviceError& error) {
      failed = true;
      require(error.code() == ErrorCode::kOutOfMemory, describe(error.report()));
    }
    (failed ? endings.in_verbs : endings.well) += 1;
    reserved.clear();
    require(!fixture.was_wrong(), "the results");
    require(fixture.is_either(before_, failed && changes_nothing_ ? before_ : after_),
            "the variables");
    require(works(strategy_, false), "the strategy afterwards");
  } catch (const DeviceError& error) {
    require(error.code() == ErrorCode::kOutOfMemory && !has_fixture, describe(error.report()));
    endings.before_verbs += 1;
  }
  require(injector_.alive == 0, "what is left on the host");
  owned_.reset();  // A communicator may keep memory.
  for (std::size_t live : live_memory(backend_)) require(live == 0, "what is left on devices");
  return problem_;
}

std::vector<TensorRow> FaultSweep::reserve() {
  std::vector<TensorRow> reserved;
  if (subject_.own_bytes == 0) return reserved;
  const auto count = static_cast<std::int64_t>(subject_.own_bytes / sizeof(float));
  for (int id = 0; id < strategy_.num_replicas(); ++id) {
    reserved.push_back(TensorRow::full({count}, 0.0F, strategy_.placement(id)));
  }
  return reserved;
}

int FaultSweep::count_points() {
  ThrowingFixture fixture(strategy_, injector_);
  injector_.arm(0);
  run_verbs(fixture);
  const int points = injector_.points();
  require(!fixture.was_wrong(), "the results without a throw");
  require(fixture.is_either(after_, after_), "the variables without a throw");
  require(works(strategy_), "the strategy without a throw");
  return points;
}

bool FaultSweep::throws_at(int at, FaultInjector::Extent extent) {
  const auto level = live_memory(backend_);
  const int alive = injector_.alive;
  bool thrown = false;
  {
    injector_.arm(0);
    ThrowingFixture fixture(strategy_, injector_);
    injector_.arm(at, extent);
    int point = 0;
    try {
      run_verbs(fixture);
    } catch (const InjectedFault& fault) {
      thrown = true;
      point = fault.point;
    }
    injector_.disarm();
    const bool once = extent == FaultInjector::Extent::kOnce;
    require(thrown == (injector_.thrown() > 0), "that what was thrown came out");
    require(!thrown || (once ? point == at && injector_.thrown() == 1 : point >= at),
            "what came out");
    require(!fixture.was_wrong(), "the results");
    require(fixture.is_either(before_, thrown && changes_nothing_ ? before_ : after_),
            "the variables");
    require(works(strategy_), "the strategy afterwards");
  }
  require(injector_.alive == alive, "what is left on the host");
  require(live_memory(backend_) == level, "what is left on the devices");
  return thrown;
}

void FaultSweep::run_verbs(ThrowingFixture& fixture) {
  after_ = ExpectedNumbers(strategy_.num_replicas());
  before_ = after_;
  for (std::size_t index : drawn_.verbs) {
    const ThrowingVerb& verb = throwing_verbs()[index];
    before_ = after_;
    verb.effect(after_);
    changes_nothing_ =
        verb.changes_nothing_when_it_throws && !subject_.has_points && subject_.own_bytes == 0;
    verb.call(fixture);
  }
  before_ = after_;
}

}  // namespace belfry::testing
