// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/process_values.h"

#include "belfry/detail/round_members.h"
#include "belfry/error.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

bool is_of(const StrategyCore& core, int replica, std::size_t process) {
  return replica >= 0 && replica < core.size() &&
         core.members().process_of(replica) == static_cast<int>(process);
}

}  // namespace

void throw_not_sent(const char* what, CallSite site) {
  throw UnsupportedError(
      ErrorCode::kUnsupported,
      std::string(what) + " over several processes takes values that can be sent",
      "numbers, strings, tensors and containers of these can be sent; in place "
      "of any other type, pass its members",
      site);
}

std::vector<int> send_present(ByteWriter& out, const StrategyCore& core,
                              const Participants& present) {
  std::vector<int> replicas;
  for (int i = 0; i < core.own().count(); ++i) {
    const int replica = core.own().id(i);
    if (present.has(replica)) replicas.push_back(replica);
  }
  out.put(static_cast<std::uint64_t>(replicas.size()));
  for (const int replica : replicas) out.put(replica);
  return replicas;
}

Participants receive_present(const StrategyCore& core, std::vector<ByteReader>& messages,
                             const char* what, CallSite site) {
  std::vector<int> replicas;
  for (std::size_t process = 0; process < messages.size(); ++process) {
    ByteReader& in = messages[process];
    if (in.rest().empty()) continue;  // The process listens.
    const std::size_t first = replicas.size();
    for (std::size_t left = in.count(sizeof(int)); left > 0; --left) {
      replicas.push_back(in.get<int>());
    }
    if (replicas.size() == first) continue;
    // Replicas ascend.
    check(is_of(core, replicas[first], process) && is_of(core, replicas.back(), process) &&
              std::ranges::is_sorted(replicas.begin() + static_cast<std::ptrdiff_t>(first),
                                     replicas.end()),
          "a component of a replica of another process");
  }
  if (!replicas.empty()) return {core.size(), std::move(replicas)};
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             std::string(what) + " of a value without a component in any process",
                             "give at least one replica a value", site);
}

int count_of_processes(StrategyCore& core, const char* what, const Participants& present,
                       CallSite site) {
  if (core.members().is_alone()) return present.count();
  ByteWriter out;
  send_present(out, core, present);
  const std::vector<Bytes> sent = core.members().exchange(what, site, out.bytes());
  std::vector<ByteReader> messages(sent.begin(), sent.end());
  return receive_present(core, messages, what, site).count();
}

}  // namespace belfry::detail
