// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The arguments of exchanges. Replicas agree on the arguments, and arguments fit together.
#include "belfry/detail/exchange_call.h"
#include "belfry/detail/exchange_parts.h"
#include "belfry/detail/tensor/axis.h"
#include "belfry/error.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace belfry::detail {
namespace {

std::string list_of(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) {
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  }
  return text;
}

std::string pairs_of(const ExchangeArgs& args) {
  std::string text;
  for (std::size_t i = 0; i + 1 < args.pairs.size(); i += 2) {
    text += (text.empty() ? "" : ", ") + std::to_string(args.pairs[i]) + " to " +
            std::to_string(args.pairs[i + 1]);
  }
  return text.empty() ? "no pairs" : "the pairs " + text;
}

// An argument in words: its name, and the part of a replica.
struct Argument {
  const char* name;
  std::string (*words)(const ExchangeArgs&);
};
const Argument kArguments[] = {
    {"operator",
     [](const ExchangeArgs& args) {
       return "reduces by " + to_string(static_cast<ReduceOp>(args.op));
     }},
    {"axis", [](const ExchangeArgs& args) { return "names axis " + std::to_string(args.axis); }},
    {"root", [](const ExchangeArgs& args) { return "names root " + std::to_string(args.root); }},
    {"sizes",
     [](const ExchangeArgs& args) {
       return args.sizes.empty() ? std::string("names no sizes")
                                 : "names the sizes " + list_of(args.sizes);
     }},
    {"pairs", [](const ExchangeArgs& args) { return "names " + pairs_of(args); }},
};

// The report of a refused exchange.
ErrorReport report_of(const Exchange& exchange, std::string summary, std::string hint) {
  ErrorReport report;
  report.code = ErrorCode::kInvalidArgument;
  report.summary = std::move(summary);
  report.site = exchange.site;
  report.hint = std::move(hint);
  return report;
}

// The numbers that a call may name.
std::string numbers_of(const Exchange& exchange) {
  const int size = exchange.members.size();
  const std::string numbers = size == 1 ? "0" : "0 to " + std::to_string(size - 1);
  if (size == exchange.present.replicas()) return "the replicas are " + numbers;
  return "a group numbers its members by index(): " + numbers;
}

// The position of a replica named in a call. Throws: InvalidArgumentError.
int position_named(const Exchange& exchange, std::int64_t index, const std::string& role) {
  const ExchangeMembers& members = exchange.members;
  const bool exists = members.has_index(index);
  if (exists && members.position(index) >= 0) return members.position(index);
  const std::string what =
      std::string(exchange.verb) + " names " + role + " " + std::to_string(index) + ", which ";
  throw InvalidArgumentError(
      exists ? report_of(exchange, what + "takes no part in this run",
                         "name a replica that takes part")
             : report_of(exchange, what + "does not exist", numbers_of(exchange)));
}

std::string replicas_that_take_part(int count) {
  return std::to_string(count) + (count == 1 ? " replica takes part" : " replicas take part");
}

std::vector<std::int64_t> balanced(std::int64_t extent, int parts) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(parts), extent / parts);
  for (std::int64_t i = 0; i < extent % parts; ++i) ++sizes[static_cast<std::size_t>(i)];
  return sizes;
}

std::string sizes_named(const Exchange& exchange, const std::vector<std::int64_t>& sizes) {
  return std::string(exchange.verb) + " names the sizes " + list_of(sizes);
}

// The sizes of the parts of leaf `leaf`.
std::vector<std::int64_t> named_sizes(const Exchange& exchange, std::size_t leaf,
                                      std::size_t leaves) {
  const std::vector<std::int64_t>& sizes = exchange.args.sizes;
  const auto count = static_cast<std::size_t>(exchange.members.count());
  if (sizes.size() == count) return sizes;
  if (sizes.size() == count * leaves) {
    const auto begin = sizes.begin() + static_cast<std::ptrdiff_t>(leaf * count);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }
  throw InvalidArgumentError(report_of(
      exchange,
      sizes_named(exchange, sizes) + ", and " + replicas_that_take_part(exchange.members.count()),
      "name a size for each, a size for each and each leaf, or none for equal parts"));
}

void require_sizes(const Exchange& exchange, const std::vector<std::int64_t>& sizes,
                   std::int64_t extent) {
  // No sum overflows: each size is at most the rest of the extent.
  std::int64_t left = extent;
  const bool fit = std::ranges::all_of(sizes, [&](std::int64_t size) {
    if (size < 0 || size > left) return false;
    left -= size;
    return true;
  });
  if (fit && left == 0) return;
  ErrorReport report =
      report_of(exchange, sizes_named(exchange, sizes) + " of an axis of " + std::to_string(extent),
                "sizes are at least 0, and add up to the extent of the axis");
  report.code = ErrorCode::kShape;
  throw InvalidArgumentError(std::move(report));
}

}  // namespace

ExchangeMembers::ExchangeMembers(const Participants* group, const Participants& present) {
  const int size = group == nullptr ? present.replicas() : group->count();
  for (int index = 0; index < size; ++index) {
    const int id = group == nullptr ? index : group->id(index);
    positions_.push_back(present.has(id) ? count() : -1);
    if (!present.has(id)) continue;
    ids_.push_back(id);
    indexes_.push_back(index);
  }
}

int ExchangeMembers::position_of(int replica) const {
  return static_cast<int>(std::ranges::find(ids_, replica) - ids_.begin());
}

const ExchangeArgs& agreed_args(const char* verb, const PerReplica<ExchangeArgs>& args,
                                CallSite site) {
  const ExchangeArgs& first = *args.begin();
  const auto is_first = [&](const ExchangeArgs& own) {
    return ExchangeArgs::members(own) == ExchangeArgs::members(first);
  };
  if (std::all_of(args.begin(), args.end(), is_first)) return first;  // Words take long.
  for (const Argument& argument : kArguments) {
    const std::string words = argument.words(first);
    const auto is_same = [&](const ExchangeArgs& own) { return argument.words(own) == words; };
    if (std::all_of(args.begin(), args.end(), is_same)) continue;
    ErrorReport report;
    report.code = ErrorCode::kStructure;
    report.summary = std::string("replicas differ in the ") + argument.name + " of one " + verb;
    for (const ExchangeArgs& own : args) {
      const int replica = args.present().id(static_cast<int>(&own - args.begin()));
      report.replicas.push_back({replica, site, argument.words(own), {}});
    }
    report.expected = std::string("the same ") + argument.name + " on every replica";
    throw StructureMismatchError(std::move(report));
  }
  return first;
}

int root_of(const Exchange& exchange) {
  return exchange.members.id(position_named(exchange, exchange.args.root, "root"));
}

std::vector<int> senders_of(const Exchange& exchange) {
  const std::vector<std::int64_t>& pairs = exchange.args.pairs;
  std::vector<int> senders(static_cast<std::size_t>(exchange.members.count()), -1);
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const int from = position_named(exchange, pairs[i], "sender");
    const int to = position_named(exchange, pairs[i + 1], "receiver");
    int& sender = senders[static_cast<std::size_t>(to)];
    if (sender >= 0) {
      throw InvalidArgumentError(report_of(
          exchange,
          std::string(exchange.verb) + " sends from " +
              std::to_string(exchange.members.index(sender)) + " and from " +
              std::to_string(pairs[i]) + " to " + std::to_string(pairs[i + 1]),
          "name each receiver once; all_to_all and gather_to bring values of several senders"));
    }
    sender = from;
  }
  return senders;
}

// Of a permutation without pairs, all: a message has at least one value.
Participants sources_of(const Exchange& exchange, MergeKind kind) {
  std::vector<int> ids;
  if (kind == MergeKind::kBroadcast || kind == MergeKind::kScatterFrom) {
    ids.push_back(root_of(exchange));
  } else if (kind == MergeKind::kPermute) {
    for (const int sender : senders_of(exchange)) {
      if (sender >= 0) ids.push_back(exchange.members.id(sender));
    }
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  }
  if (ids.empty()) return exchange.present;
  return Participants(exchange.present.replicas(), std::move(ids));
}

void require_parts(const Exchange& exchange, const std::vector<int>& replicas,
                   const std::vector<std::size_t>& counts) {
  const int count = exchange.members.count();
  const auto fits = [count](std::size_t parts) { return parts == static_cast<std::size_t>(count); };
  if (std::ranges::all_of(counts, fits)) return;
  ErrorReport report = report_of(exchange,
                                 std::string(exchange.verb) + " takes a part for each replica: " +
                                     replicas_that_take_part(count),
                                 "parts may be empty, and none may be left out");
  for (std::size_t i = 0; i < counts.size(); ++i) {
    report.replicas.push_back(
        {replicas[i],
         exchange.site,
         "brings " + std::to_string(counts[i]) + (counts[i] == 1 ? " part" : " parts"),
         {}});
  }
  std::ranges::sort(report.replicas, {}, &ReplicaReport::replica_id);
  throw InvalidArgumentError(std::move(report));
}

std::vector<AxisCuts> cuts_of(const Exchange& exchange, const std::vector<LeafRef>& leaves) {
  std::vector<AxisCuts> all;
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    const LeafRef& own = leaves[leaf];
    const Shape shape =
        own.tensor != nullptr ? own.tensor->shape() : Shape{static_cast<std::int64_t>(own.count)};
    AxisCuts& cuts = all.emplace_back();
    cuts.axis = axis_of(shape, Axis(exchange.args.axis), exchange.verb, exchange.site);
    const std::int64_t extent = shape.extent(cuts.axis);
    std::vector<std::int64_t> sizes = balanced(extent, exchange.members.count());
    if (!exchange.args.sizes.empty()) {
      sizes = named_sizes(exchange, leaf, leaves.size());
      require_sizes(exchange, sizes, extent);
    }
    cuts.begins.assign(sizes.size() + 1, 0);
    std::partial_sum(sizes.begin(), sizes.end(), cuts.begins.begin() + 1);
  }
  return all;
}

}  // namespace belfry::detail
