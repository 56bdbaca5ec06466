// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "suites/throwing_campaign.h"

#include <utility>

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

std::vector<BackendRequest> small_backends(std::uint64_t seed) {
  std::vector<CarrierKind> carriers{CarrierKind::kFiber, CarrierKind::kBaton,
                                    CarrierKind::kConcurrent};
  if (const auto asked = carrier_of_environment()) carriers = {*asked};
  std::vector<BackendRequest> all;
  for (CarrierKind carrier : carriers) {
    for (int count : {1, 2, 3}) {
      for (ScheduleKind schedule : {ScheduleKind::kFixed, ScheduleKind::kRandom}) {
        all.push_back({.devices = count, .schedule = schedule, .carrier = carrier, .seed = seed});
      }
    }
  }
  return all;
}

std::string Campaign::go(Planter::Extent extent) {
  const int points = rehearse();
  int at = 1;
  while (problem_.empty() && throws_at(at, extent)) ++at;
  require(at == points + 1, "that each of the points was reached");
  require(!planter_.lost_its_way(), "which context is current");
  return problem_.empty() ? "" : problem_ + " at point " + std::to_string(at);
}

std::string Campaign::go_once(Ends& ends, int burdened) {
  bool has_stage = false;
  try {
    std::vector<TensorRow> reserved = reserve();
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
    reserved.clear();
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

std::vector<TensorRow> Campaign::reserve() {
  std::vector<TensorRow> reserved;
  if (subject_.own_bytes == 0) return reserved;
  const auto count = static_cast<std::int64_t>(subject_.own_bytes / sizeof(float));
  for (int id = 0; id < strategy_.num_replicas(); ++id) {
    reserved.push_back(TensorRow::full({count}, 0.0F, strategy_.placement(id)));
  }
  return reserved;
}

int Campaign::rehearse() {
  Stage stage(strategy_, planter_);
  planter_.arm(0);
  play(stage);
  const int points = planter_.points();
  require(!stage.was_wrong(), "the results without a throw");
  require(stage.is_either(after_, after_), "the variables without a throw");
  require(works(strategy_), "the strategy without a throw");
  return points;
}

bool Campaign::throws_at(int at, Planter::Extent extent) {
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

void Campaign::play(Stage& stage) {
  after_ = StageNumbers(strategy_.num_replicas());
  before_ = after_;
  for (std::size_t index : drawn_.verbs) {
    const ThrowingVerb& verb = throwing_verbs()[index];
    before_ = after_;
    verb.effect(after_);
    changes_nothing_ =
        verb.changes_nothing_when_it_throws && !subject_.has_points && subject_.own_bytes == 0;
    verb.call(stage);
  }
  before_ = after_;
}

}  // namespace belfry::testing
