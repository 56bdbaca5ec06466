// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/processes/all_reduce_parts.h"

#include "belfry/cross_replica_context.h"
#include "belfry/detail/process_values.h"
#include "belfry/detail/step_tap.h"
#include "run/processes/reduction_fold.h"
#include "run/processes/sent_structure.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <exception>
#include <memory_resource>
#include <span>
#include <utility>

namespace belfry::detail {
namespace {

const std::vector<LeafDescription>& described(const void* value) {
  return *static_cast<const std::vector<LeafDescription>*>(value);
}

// The values of all replicas, in the form that their processes sent. Every process reads the values
// of all: equal structures are read once, and the elements of host leaves lie in few blocks.
class Parts {
 public:
  Parts(const MergeRequest& like, Placement place, OwnTypes types)
      : like_(like), place_(place), types_(std::move(types)) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  // The value of a replica. The leaves of `own`, the request of a replica of this process, are
  // reduced in their place.
  AllReduceRequest& take(ByteReader& in, const AllReduceRequest* own) {
    if (in.get<bool>()) read_structure(in);
    const SentStructure& structure = structures_.back();
    std::vector<LeafRef> leaves = own == nullptr ? structure.leaves : own->leaves;
    for (std::size_t i = 0; i < structure.sizes.size(); ++i) {
      if (own == nullptr) {
        take_elements(in, structure.sizes[i], leaves[i]);
      } else {
        skip_elements(in, structure.sizes[i]);
      }
    }
    AllReduceRequest& request =
        requests_.emplace_back(like_, structure.op, std::move(leaves), structure.descriptions);
    request.site = {structure.file.c_str(), structure.line};
    return request;
  }

 private:
  void read_structure(ByteReader& in) {
    const std::size_t count = in.count(1);
    const std::span<const std::byte> sent(in.skip(count), count);
    if (structures_.empty() || !std::ranges::equal(structures_.back().bytes, sent)) {
      structures_.emplace_back(sent, types_);
    }
  }

  void take_elements(ByteReader& in, std::size_t bytes, LeafRef& leaf) {
    if (bytes == SentStructure::kTensor) {
      leaf = tensor_leaf(tensors_.emplace_back(receive_tensor(in, place_)));
      return;
    }
    const std::byte* const sent = in.skip(bytes);
    if (leaf.own == nullptr) require_elements(leaf.dtype, {sent, bytes});
    leaf.data = elements_.allocate(std::max(bytes, std::size_t{1}), alignof(std::max_align_t));
    if (bytes > 0) std::memcpy(leaf.data, sent, bytes);
  }

  static void skip_elements(ByteReader& in, std::size_t bytes) {
    bytes == SentStructure::kTensor ? static_cast<void>(next_tensor(in))
                                    : static_cast<void>(in.skip(bytes));
  }

  const MergeRequest& like_;
  Placement place_;
  OwnTypes types_;
  std::deque<SentStructure> structures_;
  std::deque<AnyTensor> tensors_;
  std::pmr::monotonic_buffer_resource elements_;
  std::deque<AllReduceRequest> requests_;
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

bool have_one_structure(const AllReduceRequest& a, const AllReduceRequest& b) {
  return a.op == b.op && a.site.line == b.site.line && a.site.file == b.site.file &&
         a.same(a.value, b.value) && same_leaves(a.leaves, b.leaves);
}

// The structure, unless it is that of the replica `before` of this process; then the elements.
void send_part(ByteWriter& out, const AllReduceRequest& request, const AllReduceRequest* before,
               Elements elements) {
  const bool is_new = before == nullptr || !have_one_structure(*before, request);
  out.put(is_new);
  if (is_new) send_structure(out, request);
  for (const LeafRef& leaf : request.leaves) {
    if (leaf.tensor != nullptr) {
      send_tensor(out, *leaf.tensor, elements);
    } else {
      out.add(leaf.data, leaf.bytes());
    }
  }
}

void send_parts(ByteWriter& out, const StrategyCore& core, MergeRequest* const* requests,
                const Participants& present, Elements elements) {
  const AllReduceRequest* before = nullptr;
  for (const int replica : send_present(out, core, present)) {
    send_part(out, at(requests, replica), before, elements);
    before = &at(requests, replica);
  }
}

// The tensors; none if a replica takes no part: a communicator takes a part of every replica.
std::vector<const AnyTensor*> tensors_of(const StrategyCore& core, MergeRequest* const* requests,
                                         const Participants& present) {
  std::vector<const AnyTensor*> tensors;
  const bool all_present = present.count() == core.own().count();
  for (int i = 0; all_present && i < present.count(); ++i) {
    for (const LeafRef& leaf : at(requests, present.id(i)).leaves) {
      if (leaf.tensor != nullptr) tensors.push_back(leaf.tensor);
    }
  }
  return tensors;
}

// The leaves of the replicas of this process are replaced by the reduction over the replicas of all
// processes.
void all_reduce_over_processes(CrossReplicaContext& cross, MergeRequest* const* requests,
                               const Participants& present) {
  StrategyCore& core = cross.core();
  const MergeRequest& first = *requests[present.id(0)];
  const auto reduce = [&core](std::span<const std::span<const std::byte>> messages) {
    return fold_reduction(core, messages);
  };
  const ProcessGroup::Fold fold(reduce);
  const auto write = [&](ByteWriter& out, Elements elements) {
    send_parts(out, core, requests, present, elements);
  };
  // The place is empty: merges with equal tags meet at different lines.
  SentValues sent =
      exchange_to_reduce(core, "all_reduce", {}, tensors_of(core, requests, present), write, &fold);
  if (sent.folded != nullptr) return take_reduction(core, requests, present, *sent.folded);
  const RoundMembers& processes = core.members();
  const Participants everywhere = receive_present(core, sent.messages, "all_reduce", first.site);

  Parts parts(first, core.placement(core.first_replica()), own_types(requests, present));
  std::vector<MergeRequest*> all(static_cast<std::size_t>(core.size()));
  ByteReader* message = nullptr;
  for (int i = 0; i < everywhere.count(); ++i) {
    const int replica = everywhere.id(i);
    // Replicas follow one another in the message of their process.
    if (message == nullptr || message->rest().empty()) {
      message = &sent.messages[static_cast<std::size_t>(processes.process_of(replica))];
    }
    const AllReduceRequest* const own = present.has(replica) ? &at(requests, replica) : nullptr;
    all[static_cast<std::size_t>(replica)] = &parts.take(*message, own);
  }
  try {
    all_reduce_requests(cross, all.data(), everywhere);
  } catch (...) {
    // The report points to places in `parts`.
    std::rethrow_exception(processes.completed(std::current_exception()));
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
      same([](const void* a, const void* b) { return a == b || described(a) == described(b); }),
      describe([](const void* a) { return described(a); }) {}

void write_for_round(StrategyCore& core, MergeRequest* const* requests, const Participants& present,
                     ByteWriter& out) {
  const std::size_t begin = out.bytes().size();
  const auto write = [&](ByteWriter& to, Elements elements) {
    send_parts(to, core, requests, present, elements);
  };
  try {
    write_to_reduce(out, core, tensors_of(core, requests, present), write);
  } catch (...) {
    out.truncate(begin);
  }
}

// Every process takes the leaves, so each needs a value with the structure of the result.
HostReduction reduce_by_hosts(StrategyCore& core, const char* what, CallSite site,
                              std::vector<AllReduceRequest>& requests,
                              const Participants& present) {
  std::vector<MergeRequest*> by_replica(static_cast<std::size_t>(core.size()));
  bool has_tensors = false;
  for (int i = 0; i < present.count(); ++i) {
    AllReduceRequest& request = requests[static_cast<std::size_t>(i)];
    by_replica[static_cast<std::size_t>(present.id(i))] = &request;
    has_tensors = has_tensors || std::ranges::any_of(request.leaves, [](const LeafRef& leaf) {
                    return leaf.tensor != nullptr;
                  });
  }
  const auto tensors = tensors_of(core, by_replica.data(), present);
  if (core.members().has_listeners() || (has_tensors && !hosts_reduce(core, tensors))) {
    return HostReduction::kNotTried;
  }
  const auto write = [&](ByteWriter& out) {
    out.text(kHeld);
    send_parts(out, core, by_replica.data(), present, Elements::kHeld);
  };
  const auto reduce = [&core](std::span<const std::span<const std::byte>> messages) {
    const bool all_have_values = std::ranges::all_of(messages, [](const auto& message) {
      ByteReader in(message);
      return in.text() == kHeld && in.count(sizeof(int)) > 0;
    });
    return all_have_values ? fold_reduction(core, messages) : std::nullopt;
  };
  const ProcessGroup::Fold fold(reduce);
  const FoldedBytes sent =
      core.members().exchange_to_fold(what, site, write, step_tap == nullptr ? &fold : nullptr);
  if (sent.result == nullptr) return HostReduction::kRefused;
  require_operator(requests.front().op, site);  // Also where no leaf asks.
  take_reduction(core, by_replica.data(), present, *sent.result);
  return HostReduction::kDone;
}

void execute_all_reduce(CrossReplicaContext& cross, MergeRequest* const* requests,
                        const Participants& present, int /*functions*/) {
  const bool is_alone = cross.core().members().is_alone();
  is_alone ? all_reduce_requests(cross, requests, present)
           : all_reduce_over_processes(cross, requests, present);
}

}  // namespace belfry::detail
