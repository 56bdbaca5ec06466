// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/processes/all_reduce_parts.h"

#include "belfry/cross_replica_context.h"
#include "belfry/detail/process_exchange.h"
#include "belfry/detail/process_values.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <string>
#include <utility>

namespace belfry::detail {
namespace {

const std::vector<LeafDescription>& described(const void* value) {
  return *static_cast<const std::vector<LeafDescription>*>(value);
}

// The functions of types with ElementTraits, by the names of the types. Addresses of functions have
// no meaning in another process.
using OwnTypes = std::map<std::string, const ElementFunctions*>;

OwnTypes own_types(MergeRequest* const* requests, const Participants& present);

// The value of a replica, in the form that its process sent.
struct Part {
  Part(ByteReader& in, const MergeRequest& like, Placement place, const OwnTypes& types) {
    const auto op = in.get<ReduceOp>();
    file = in.text();
    const int line = in.get<int>();
    for (std::size_t left = in.count(); left > 0; --left) {
      LeafDescription leaf;
      leaf.path = in.text();
      leaf.type = in.text();
      descriptions.push_back(std::move(leaf));
    }
    std::vector<LeafRef> leaves;
    for (std::size_t left = in.count(); left > 0; --left)
      leaves.push_back(take_leaf(in, place, types));
    request.emplace(like, op, std::move(leaves), descriptions);
    request->site = {file.c_str(), line};
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  // The value of a replica of this process is reduced in its place.
  void take_place_of(const AllReduceRequest& own) { request->leaves = own.leaves; }

  LeafRef take_leaf(ByteReader& in, Placement place, const OwnTypes& types) {
    if (in.get<bool>()) return tensor_leaf(tensors.emplace_back(receive_tensor(in, place)));
    LeafRef leaf;
    leaf.dtype = in.get<DType>();
    // A type that no replica of this process brings is a difference of structure, which is found
    // before the leaf is read.
    const auto type = types.find(in.text());
    if (type != types.end()) leaf.own = type->second;
    leaf.count = in.count();
    Bytes& own = storage.emplace_back(in.count(1));
    in.take(own.data(), own.size());
    leaf.data = own.data();
    return leaf;
  }

  std::string file;
  std::vector<LeafDescription> descriptions;
  std::deque<Bytes> storage;
  std::deque<AnyTensor> tensors;
  std::optional<AllReduceRequest> request;
};

const AllReduceRequest& at(MergeRequest* const* requests, int replica) {
  return static_cast<const AllReduceRequest&>(*requests[replica]);
}

OwnTypes own_types(MergeRequest* const* requests, const Participants& present) {
  OwnTypes types;
  for (int i = 0; i < present.count(); ++i) {
    for (const LeafRef& leaf : at(requests, present.id(i)).leaves) {
      if (leaf.own != nullptr) types.emplace(name_of(*leaf.own), leaf.own);
    }
  }
  return types;
}

void send_part(ByteWriter& out, const AllReduceRequest& request, Elements elements) {
  out.put(request.op);
  out.text(request.site.file);
  out.put(request.site.line);
  const std::vector<LeafDescription> leaves = request.describe(request.value);
  out.put(static_cast<std::uint64_t>(leaves.size()));
  for (const LeafDescription& leaf : leaves) {
    out.text(leaf.path);
    out.text(leaf.type);
  }
  out.put(static_cast<std::uint64_t>(request.leaves.size()));
  for (const LeafRef& leaf : request.leaves) {
    out.put(leaf.tensor != nullptr);
    if (leaf.tensor != nullptr) {
      send_tensor(out, *leaf.tensor, elements);
      continue;
    }
    out.put(leaf.dtype);
    out.text(leaf.own == nullptr ? std::string() : name_of(*leaf.own));
    out.put(static_cast<std::uint64_t>(leaf.count));
    out.put(static_cast<std::uint64_t>(leaf.bytes()));
    out.add(leaf.data, leaf.bytes());
  }
}

}  // namespace

AllReduceRequest::AllReduceRequest(const MergeRequest& like, ReduceOp reduce_op,
                                   std::vector<LeafRef> replaced,
                                   const std::vector<LeafDescription>& descriptions)
    : MergeRequest(like),
      op(reduce_op),
      leaves(std::move(replaced)),
      value(&descriptions),
      same([](const void* a, const void* b) { return described(a) == described(b); }),
      describe([](const void* a) { return described(a); }) {}

void all_reduce_over_processes(CrossReplicaContext& cross, MergeRequest* const* requests,
                               const Participants& present) {
  StrategyCore& core = cross.core();
  const MergeRequest& first = *requests[present.id(0)];
  // A communicator takes a part of every replica.
  const bool all_present = present.count() == core.own().count();
  std::vector<const AnyTensor*> tensors;
  for (int i = 0; all_present && i < present.count(); ++i) {
    for (const LeafRef& leaf : at(requests, present.id(i)).leaves) {
      if (leaf.tensor != nullptr) tensors.push_back(leaf.tensor);
    }
  }
  const auto write = [&](ByteWriter& out, Elements elements) {
    for (const int replica : send_present(out, core, present)) {
      send_part(out, at(requests, replica), elements);
    }
  };
  // The place is empty: merges with equal tags meet at different lines.
  ReducedMessages sent = exchange_to_reduce(core, "all_reduce", {}, tensors, write);
  ProcessExchange& processes = *core.processes();
  const Participants everywhere = receive_present(core, sent.messages, "all_reduce", first.site);

  std::deque<Part> parts;
  std::vector<MergeRequest*> all(static_cast<std::size_t>(core.size()));
  const Placement place = core.placement(core.first_replica());
  const OwnTypes types = own_types(requests, present);
  for (int i = 0; i < everywhere.count(); ++i) {
    const int replica = everywhere.id(i);
    const auto process = static_cast<std::size_t>(processes.process_of(replica));
    Part& part = parts.emplace_back(sent.messages[process], first, place, types);
    if (present.has(replica)) part.take_place_of(at(requests, replica));
    all[static_cast<std::size_t>(replica)] = &*part.request;
  }
  try {
    all_reduce_requests(cross, all.data(), everywhere);
  } catch (...) {
    // The report points to places in `parts`.
    std::rethrow_exception(processes.completed(std::current_exception()));
  }
}

}  // namespace belfry::detail
