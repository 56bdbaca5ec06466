// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/testing/uneven_batch.h"

#include <ostream>
#include <utility>

namespace belfry::testing {
namespace {

// Enough for every number of replicas that belfry::testing draws.
constexpr std::uint32_t kOwners = 64;

rc::Gen<UnevenBatch::Example> example() {
  const auto owner = rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, kOwners));
  return rc::gen::build<UnevenBatch::Example>(
      rc::gen::set(&UnevenBatch::Example::value, exact_number()),
      rc::gen::set(&UnevenBatch::Example::owner, owner));
}

}  // namespace

std::vector<double> UnevenBatch::share(int replica, int replicas) const {
  std::vector<double> own;
  for (const Example& example : examples) {
    if (example.owner % static_cast<std::uint32_t>(replicas) ==
        static_cast<std::uint32_t>(replica)) {
      own.push_back(example.value);
    }
  }
  return own;
}

rc::Gen<UnevenBatch> uneven_batch() {
  return rc::gen::map(
      rc::gen::container<std::vector<UnevenBatch::Example>>(example()),
      [](std::vector<UnevenBatch::Example> examples) { return UnevenBatch{std::move(examples)}; });
}

void showValue(const UnevenBatch& batch, std::ostream& out) {
  const char* separator = "[";
  for (const UnevenBatch::Example& example : batch.examples) {
    out << separator << double(example.value) << " of replica " << example.owner;
    separator = ", ";
  }
  out << (batch.examples.empty() ? "[]" : "]");
}

}  // namespace belfry::testing
