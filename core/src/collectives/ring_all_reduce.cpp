// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"
#include "belfry/planned_all_reduce.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

// N members form a ring, and each member reads from its left neighbour alone:
//
//   .--> member 0 --> member 1 --> member 2 --.
//   '-----------------------------------------'
//
// A tensor is cut into N chunks, here a, b and c. a0 is chunk a of member 0, and a01 the sum a0 +
// a1. In each sum step the member at place p adds its own chunk to the partial sum of its left
// neighbour:
//
//             place 0           place 1           place 2
//   start     a0   b0   c0      a1   b1   c1      a2   b2   c2
//   sum 1     a0   b0   c20     a01  b1   c1      a2   b12  c2
//   sum 2     a0   b120 c20     a01  b1   c201    a012 b12  c2
//   copy 1    a012 b120 c20     a01  b120 c201    a012 b12  c201
//   copy 2    a012 b120 c201    a012 b120 c201    a012 b120 c201
//
// Invariant: the sum of chunk c starts at place c and moves one place in each step; after sum step
// k, the member at place p has k + 1 terms of chunk p - k, modulo N. No member reads what another
// writes in the same step.
//
// The options change the places, and no step:
// - start: the sum of chunk c starts at place c + start.
// - permutation: the order of the replicas of a host in the ring. With hosts, the M replicas of
//   host 0 come first, then the replicas of host 1: 0 2 1 3, 4 6 5 7 for the permutation 0 2 1 3.
// - subchunks: S rings run at once, each on a part of every chunk: chunk c of ring s is chunk
//   c * S + s of the plan. Ring s begins s * (M / S) places later in the order of each host, and
//   the rings pass from host to host by different replicas. For two hosts, M = 4 and S = 2:
//
//   ring 0    0 1 2 3 4 5 6 7    from host to host: 3 -> 4 and 7 -> 0
//   ring 1    2 3 0 1 6 7 4 5    from host to host: 1 -> 6 and 5 -> 2
//
// If the options do not fit the members, because some replicas take no part, the members form one
// plain ring in replica order.
namespace belfry {
namespace {

bool is_permutation_of_numbers(std::vector<int> numbers) {
  std::ranges::sort(numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != static_cast<int>(i)) return false;
  }
  return true;
}

[[noreturn]] void refuse(const std::string& what, const std::string& hint, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument, "the options of a ring: " + what, hint,
                             site);
}

int modulo(int value, int n) { return ((value % n) + n) % n; }

}  // namespace

RingAllReduce::RingAllReduce(RingOptions options, CallSite site)
    : options_(std::move(options)), site_(site) {
  const auto replicas = static_cast<int>(options_.permutation.size());
  if (options_.hosts < 1) {
    refuse("there are " + std::to_string(options_.hosts) + " hosts", "use 1 for a single host",
           site);
  }
  if (!is_permutation_of_numbers(options_.permutation)) {
    refuse("'permutation' lacks a number or has one twice",
           "list the numbers from 0 to the number of replicas of a host, less 1, once each", site);
  }
  if (options_.subchunks < 1 || (replicas > 0 && options_.subchunks > replicas)) {
    refuse("there are " + std::to_string(options_.subchunks) + " subchunks",
           "use 1 up to the number of replicas of a host", site);
  }
  if (options_.start < 0) {
    refuse("a chunk starts at place " + std::to_string(options_.start),
           "use 0, or 1 for the rings of TensorFlow's graphs", site);
  }
}

bool RingAllReduce::fits(int members) const {
  if (members % options_.hosts != 0) return false;
  const int replicas = members / options_.hosts;
  return options_.subchunks <= replicas &&
         (options_.permutation.empty() ||
          options_.permutation.size() == static_cast<std::size_t>(replicas));
}

void RingAllReduce::require_fit(const ReplicaDevices& devices) const {
  if (!fits(devices.size())) {
    refuse("they do not fit " + std::to_string(devices.size()) + " replicas",
           "the replicas are hosts * the length of the permutation; subchunks are at most the "
           "replicas of a host",
           site_);
  }
}

ReductionOrder RingAllReduce::order(ReplicaDevices& devices) const {
  const bool is_plain = options_.subchunks == 1 && options_.start % devices.size() == 0 &&
                        std::ranges::is_sorted(options_.permutation);
  return is_plain ? ReductionOrder::kRing : ReductionOrder::kUnspecified;
}

std::vector<std::vector<int>> RingAllReduce::rings(int members) const {
  const RingOptions options = fits(members) ? options_ : RingOptions{};
  const int replicas = members / options.hosts;
  std::vector<int> host = options.permutation;
  if (host.empty()) {
    host.resize(static_cast<std::size_t>(replicas));
    std::iota(host.begin(), host.end(), 0);
  }
  std::vector<std::vector<int>> rings;
  for (int s = 0; s < options.subchunks; ++s) {
    const int turn = s * std::max(1, replicas / options.subchunks);
    std::vector<int> ring;
    for (int place = 0; place < members; ++place) {
      const int of_host = modulo(place % replicas + turn, replicas);
      ring.push_back(place / replicas * replicas + host[static_cast<std::size_t>(of_host)]);
    }
    rings.push_back(std::move(ring));
  }
  return rings;
}

std::optional<ReductionPlan> RingAllReduce::plan(int members) const {
  const std::vector<std::vector<int>> rings = this->rings(members);
  const auto subchunks = static_cast<int>(rings.size());
  const int start = fits(members) ? options_.start : 0;
  ReductionPlan plan{.members = members, .chunks = members * subchunks};
  for (int step = 0; step + 1 < members; ++step) {
    std::vector<ReductionPlan::Sum> sums;
    std::vector<ReductionPlan::Copy> copies;
    for (int s = 0; s < subchunks; ++s) {
      const auto member = [&](int place) {
        return rings[static_cast<std::size_t>(s)][static_cast<std::size_t>(modulo(place, members))];
      };
      for (int place = 0; place < members; ++place) {
        const int added = modulo(place - start - 1 - step, members) * subchunks + s;
        sums.push_back({member(place), {added, 1}, {member(place - 1), member(place)}});
        const int copied = modulo(place - start - step, members) * subchunks + s;
        copies.push_back({member(place - 1), member(place), {copied, 1}});
      }
    }
    plan.sums.push_back(std::move(sums));
    plan.copies.push_back(std::move(copies));
  }
  return plan;
}

}  // namespace belfry
