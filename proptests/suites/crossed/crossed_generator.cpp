// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/arbitrary.h"
#include "suites/crossed/crossed_case.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing::crossed {
namespace {

constexpr int kMostDevices = 17;

// From [0, count), independent of the size of the case: a choice, not an amount.
rc::Gen<int> choice(int count) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, count));
}

// The chunks into which the algorithm cuts a tensor.
int chunks_of(const Case& drawn) {
  const int members = drawn.members();
  if (drawn.route == Route::kRingWithOptions) return members * drawn.ring().subchunks;
  if (drawn.route == Route::kShuffle && drawn.shards() != 0) return drawn.shards();
  if (drawn.route == Route::kHalvingDoubling) {
    return static_cast<int>(std::bit_floor(static_cast<unsigned>(members)));
  }
  return members;
}

// A length before the number of chunks is known.
struct Length {
  int kind = 0;    // 0: none or one element; 1: a prime; else beside an edge of chunks.
  int factor = 0;  // Of the number of chunks.
  int distance = 0;
};

std::size_t elements_of(const Length& length, int chunks) {
  constexpr int primes[] = {2, 3, 5, 7, 11, 13, 31, 61};
  if (length.kind == 0) return static_cast<std::size_t>(length.factor % 2);
  if (length.kind == 1) return static_cast<std::size_t>(primes[length.factor]);
  return static_cast<std::size_t>(chunks * (1 + length.factor % 3) + length.distance - 1);
}

rc::Gen<std::vector<Length>> some_lengths() {
  const auto length = rc::gen::map(rc::gen::tuple(choice(5), choice(8), choice(3)), [](auto drawn) {
    return Length{std::get<0>(drawn), std::get<1>(drawn), std::get<2>(drawn)};
  });
  return rc::gen::nonEmpty(rc::gen::resize(5, rc::gen::container<std::vector<Length>>(length)));
}

rc::Gen<std::optional<ReductionOrder>> some_order() {
  return rc::gen::map(choice(8), [](int drawn) -> std::optional<ReductionOrder> {
    constexpr ReductionOrder orders[] = {ReductionOrder::kReplicaOrder, ReductionOrder::kTree,
                                         ReductionOrder::kTree, ReductionOrder::kRing,
                                         ReductionOrder::kUnspecified};
    return drawn < 3 ? std::nullopt : std::optional(orders[drawn - 3]);
  });
}

// Mostly floats: sums of integers do not depend on the order.
DType element_type(int drawn) {
  constexpr DType floats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};
  constexpr DType integers[] = {DType::kInt8,  DType::kInt16,  DType::kInt32,  DType::kInt64,
                                DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64};
  return drawn < 24 ? floats[drawn % 4] : integers[drawn - 24];
}

// Everything but the route, the devices and the lengths.
rc::Gen<Case> some_choices() {
  return rc::gen::map(
      rc::gen::tuple(choice(32), choice(1 << 12), some_order(), choice(4), choice(200), choice(6),
                     choice(5), choice(8), choice(4), choice(1 << 16)),
      [](const auto& drawn) {
        Case made;
        made.dtype = element_type(std::get<0>(drawn));
        made.option = std::get<1>(drawn);
        made.order = std::get<2>(drawn);
        made.packed = std::get<3>(drawn) != 0;
        made.largest = std::get<3>(drawn) == 1 ? std::get<1>(drawn) % 100 : 0;
        made.limit = std::get<4>(drawn);
        // An algorithm sees tensors only.
        constexpr int residences[] = {0, 1, 1, 1, 2, 2};
        made.residence = static_cast<Residence>(residences[std::get<5>(drawn)]);
        made.target = static_cast<Target>(std::get<6>(drawn));
        constexpr ReduceOp ops[] = {ReduceOp::kSum,  ReduceOp::kSum,  ReduceOp::kMean,
                                    ReduceOp::kMean, ReduceOp::kProd, ReduceOp::kProd,
                                    ReduceOp::kMax,  ReduceOp::kMin};
        made.op = ops[std::get<7>(drawn)];
        if (made.op == ReduceOp::kMean && !is_floating(made.dtype)) made.op = ReduceOp::kSum;
        made.values.pattern = std::get<8>(drawn) == 3 ? Pattern::kSpecials : Pattern::kRandom;
        made.values.seed = static_cast<std::uint64_t>(std::get<9>(drawn));
        return made;
      });
}

struct Devices {
  BackendRequest backend;
  Topology replicas;
  Topology destination;
};

// Numbers of devices are equally likely: two members add in the same way in every order.
rc::Gen<Devices> some_devices() {
  const auto request = rc::gen::map(rc::gen::pair(backend_request(1), choice(kMostDevices)),
                                    [](std::pair<BackendRequest, int> drawn) {
                                      drawn.first.devices = 1 + drawn.second;
                                      return drawn.first;
                                    });
  return rc::gen::mapcat(request, [](const BackendRequest& backend) {
    const auto devices = topology_of(backend.devices);
    return rc::gen::map(rc::gen::tuple(devices, devices, choice(3)), [backend](const auto& drawn) {
      const auto& [replicas, destination, some] = drawn;
      const bool is_whole = some != 2;
      return Devices{backend, is_whole ? Topology::whole(backend.devices) : replicas, destination};
    });
  });
}

}  // namespace

rc::Gen<Case> any_case(Route route) {
  // More tensors than an algorithm receives in one call, in a tenth of the cases.
  return rc::gen::map(
      rc::gen::tuple(some_devices(), some_choices(), some_lengths(), choice(10)),
      [route](const auto& drawn) {
        const auto& [devices, choices, lengths, many] = drawn;
        Case made = choices;
        made.route = route;
        // Packs need an algorithm that is named.
        if (route == Route::kNoneGiven) made.packed = false;
        made.backend = devices.backend;
        made.replicas = devices.replicas;
        made.destination = devices.destination.devices;
        const int chunks = chunks_of(made);
        for (const Length& length : lengths) made.lengths.push_back(elements_of(length, chunks));
        const std::size_t few = made.lengths.size();
        while (many == 9 && made.lengths.size() < 34) {
          made.lengths.push_back(std::min<std::size_t>(made.lengths[made.lengths.size() - few], 9));
        }
        return made;
      });
}

}  // namespace belfry::testing::crossed
