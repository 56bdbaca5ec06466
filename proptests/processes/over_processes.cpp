// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "processes/over_processes.h"

#include "src/contracts/agreement.h"
#include "src/contracts/judgement.h"

#include <cstdint>
#include <cstring>
#include <span>

namespace belfry::testing {

std::string mistake_over_processes(ProcessGroup& group, const std::string& name, int cases,
                                   const ProcessProperty& property) {
  ContractOptions options = settled({.cases = cases});
  const std::uint64_t own = *options.seed;
  std::uint64_t first = 0;
  const auto bytes = group.broadcast(std::as_bytes(std::span(&own, 1)), 0);
  std::memcpy(&first, bytes.data(), sizeof first);
  options.seed = first;
  return mistake_of([&] { agree_on_case(group, property()); }, name, options);
}

}  // namespace belfry::testing
