// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "suites/throwing/throwing_fixture.h"

#include <algorithm>

namespace belfry::testing {

ThrowingFixture::ThrowingFixture(Strategy& owner, FaultInjector& faults)
    : strategy(owner),
      injector(faults),
      host(owner.mirrored_variable(row_of(1))),
      tensor(
          owner.mirrored_variable([] { return tensor_of(2); }, {.aggregation = Aggregation::kSum})),
      throwing_number(owner.mirrored_variable([this] { return number(5); },
                                              {.aggregation = Aggregation::kOnlyFirst})),
      local(owner.replica_local_variable(ReduceOp::kSum, row_of(3))),
      local_tensor(owner.replica_local_variable(ReduceOp::kSum, [] { return tensor_of(4); })),
      pair(owner.replica_local_variable(ReduceOp::kSum,
                                        [] { return Pair(tensor_of(6), tensor_of(6)); })) {}

void ThrowingFixture::occupy_memory(int replica) {
  constexpr std::int64_t kRows = 8;
  occupied_ = TensorRow::full({kRows * static_cast<std::int64_t>(kRowLength)}, 0.0F,
                              strategy.placement(replica));
}

bool are_all(const std::vector<Row>& rows, float value) {
  return std::ranges::all_of(rows, [&](const Row& row) { return row == row_of(value); });
}

namespace {

bool is_mirrored(const std::vector<Row>& rows, float before, float after) {
  return are_all(rows, before) || are_all(rows, after);
}

bool is_local(const std::vector<Row>& rows, const std::vector<float>& before,
              const std::vector<float>& after) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != row_of(before[i]) && rows[i] != row_of(after[i])) return false;
  }
  return rows.size() == before.size();
}

}  // namespace

// Every replica sees component 0, on whatever device.
bool ThrowingFixture::is_seen_alike() {
  const Row expected = components(strategy, tensor).front();
  const auto seen =
      strategy.run([&](ReplicaContext& replica) { return tensor.on(replica).to_host(); });
  return std::ranges::all_of(seen, [&](const Row& row) { return row == expected; });
}

bool ThrowingFixture::is_either(const ExpectedNumbers& before, const ExpectedNumbers& after) {
  if (!is_seen_alike()) return false;
  return is_mirrored(components(strategy, host), before.host, after.host) &&
         is_mirrored(components(strategy, tensor), before.tensor, after.tensor) &&
         is_mirrored(components(strategy, throwing_number), before.throwing_number,
                     after.throwing_number) &&
         is_local(components(strategy, local), before.local, after.local) &&
         is_local(components(strategy, local_tensor), before.local_tensor, after.local_tensor) &&
         is_local(components(strategy, pair), before.pair, after.pair);
}

}  // namespace belfry::testing
