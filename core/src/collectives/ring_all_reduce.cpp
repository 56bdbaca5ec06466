// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"
#include "belfry/planned_all_reduce.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

// For N members in a ring. A tensor is cut into N chunks, and the sum of chunk c starts at place c.
// In each of N - 1 steps every member adds its own chunk to a chunk of its left neighbour, so that
// the sum goes round in ascending order; the member at place c - 1 then has the sum of chunk c. In
// N - 1 more steps every member copies a finished chunk from its left neighbour.
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
