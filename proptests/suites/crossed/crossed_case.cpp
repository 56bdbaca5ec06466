// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "suites/crossed/crossed_case.h"

#include "belfry/cross_device_ops.h"
#include "belfry/planned_all_reduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>
#include <utility>

namespace belfry::testing::crossed {
namespace {

std::vector<int> divisors_of(int number) {
  std::vector<int> divisors;
  for (int divisor = 1; divisor <= number; ++divisor) {
    if (number % divisor == 0) divisors.push_back(divisor);
  }
  return divisors;
}

std::shared_ptr<CrossDeviceOps> unpacked(const Case& drawn) {
  switch (drawn.route) {
    case Route::kNoneGiven:
      break;
    case Route::kNative:
      return std::make_shared<NativeAllReduce>();
    case Route::kToOneDevice:
      return std::make_shared<ReductionToOneDevice>();
    case Route::kRing:
      return std::make_shared<RingAllReduce>();
    case Route::kRingWithOptions:
      return std::make_shared<RingAllReduce>(drawn.ring());
    case Route::kTree:
      return std::make_shared<TreeAllReduce>();
    case Route::kHalvingDoubling:
      return std::make_shared<HalvingDoublingAllReduce>();
    case Route::kShuffle:
      return std::make_shared<ShuffleAllReduce>(drawn.shards());
    case Route::kHierarchical:
      return std::make_shared<HierarchicalAllReduce>(drawn.groups());
  }
  return nullptr;
}

std::string algorithm_text(const Case& drawn) {
  switch (drawn.route) {
    case Route::kNoneGiven:
      return "no algorithm";
    case Route::kRingWithOptions: {
      const RingOptions ring = drawn.ring();
      return fmt::format("ring of {} hosts, permutation {}, {} subchunks, start {}", ring.hosts,
                         fmt::join(ring.permutation, " "), ring.subchunks, ring.start);
    }
    case Route::kShuffle:
      return fmt::format("shuffle with {} shards", drawn.shards());
    case Route::kHierarchical: {
      std::string text = "hierarchical";
      for (const auto& group : drawn.groups())
        text += fmt::format(" {{{}}}", fmt::join(group, " "));
      return text;
    }
    default:
      break;
  }
  return std::string(unpacked(drawn)->name());
}

std::string packing_text(const Case& drawn) {
  if (!drawn.packed) return "no packs";
  return fmt::format("packs of {} bytes, with tensors of {} bytes", drawn.limit, drawn.largest);
}

std::string target_text(const Case& drawn) {
  switch (drawn.target) {
    case Target::kInReplicas:
      return "all_reduce in replicas";
    case Target::kOwnDevices:
      return "reduce to the own devices";
    case Target::kOneDevice:
      return fmt::format("reduce to device {}", drawn.destination.front());
    case Target::kListOfDevices:
      return fmt::format("reduce to devices {}", fmt::join(drawn.destination, ", "));
    case Target::kVariable:
      return fmt::format("reduce to a variable on devices {}", fmt::join(drawn.homes(), ", "));
  }
  return "?";
}

}  // namespace

std::vector<int> Case::homes() const {
  std::vector<int> homes;
  for (const int device : replicas.devices) {
    if (std::ranges::find(destination, device) != destination.end()) homes.push_back(device);
  }
  return homes.empty() ? replicas.devices : homes;
}

RingOptions Case::ring() const {
  const std::vector<int> divisors = divisors_of(members());
  int rest = option;
  const auto digit = [&](int base) { return std::exchange(rest, rest / base) % base; };
  RingOptions ring;
  ring.start = digit(4);
  const bool is_reversed = digit(2) == 1;
  ring.hosts = divisors[static_cast<std::size_t>(digit(static_cast<int>(divisors.size())))];
  const int replicas = members() / ring.hosts;
  ring.subchunks = 1 + digit(replicas);
  const int turn = digit(replicas);
  for (int place = 0; place < replicas; ++place) {
    const int turned = (place + turn) % replicas;
    ring.permutation.push_back(is_reversed ? replicas - 1 - turned : turned);
  }
  return ring;
}

std::vector<std::vector<int>> Case::groups() const {
  if (option % 3 == 0) return {};
  const int count = 1 + option / 3 % members();
  const int size = (members() + count - 1) / count;
  std::vector<std::vector<int>> groups;
  for (int member = 0; member < members(); ++member) {
    const auto group = static_cast<std::size_t>(option % 3 == 1 ? member / size : member % count);
    if (group >= groups.size()) groups.emplace_back();
    groups[group].push_back(member);
  }
  return groups;
}

int Case::shards() const { return option % (2 * members() + 1); }

std::shared_ptr<CrossDeviceOps> Case::algorithm() const {
  std::shared_ptr<CrossDeviceOps> inner = unpacked(*this);
  if (!packed) return inner;
  return in_packs(std::move(inner), {.bytes_per_tensor = largest, .bytes_per_pack = limit});
}

std::string to_string(const Case& drawn) {
  const char* const residences[] = {"in host memory", "on devices",
                                    "in host memory and on devices"};
  return fmt::format(
      "{} of leaves of {} {} {}, {}\n  by {}, {}, {}\n  with {}\n  {}, replicas on {}",
      to_string(drawn.op), fmt::join(drawn.lengths, ", "), to_string(drawn.dtype),
      residences[static_cast<std::size_t>(drawn.residence)], to_string(drawn.values),
      algorithm_text(drawn), packing_text(drawn),
      drawn.order ? "order named: " + to_string(*drawn.order) : "no order named",
      target_text(drawn), to_string(drawn.backend), to_string(drawn.replicas));
}

void showValue(const Case& drawn, std::ostream& out) { out << to_string(drawn); }

}  // namespace belfry::testing::crossed
