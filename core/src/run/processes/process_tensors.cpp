// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/process_tensors.h"

#include "backend/access_order.h"
#include "belfry/backend/host_visible.h"
#include "belfry/backend/process_links.h"
#include "belfry/backend/process_parts.h"
#include "belfry/detail/process_values.h"
#include "belfry/detail/step_tap.h"
#include "belfry/error.h"
#include "run/processes/group_members.h"
#include "run/processes/process_communicator.h"
#include "run/processes/reduction_fold.h"
#include "values/bool_bytes.h"
#include "values/elsewhere.h"
#include "values/held.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace belfry::detail {
namespace {

// The transport of parts between the memories of processes (SEM-220).
constexpr const char* kParts = "parts";
// The transport of tensors that move between the memories of processes (SEM-285).
constexpr const char* kMoves = "moves";

bool is_visible(const AnyTensor& tensor) {
  return dynamic_cast<HostVisibleDevice*>(&device_of(tensor.placement())) != nullptr;
}

// The transport if the devices of the processes cannot be joined.
std::string transport_by_host(StrategyCore& core, const std::vector<const AnyTensor*>& tensors) {
  const ProcessParts* const parts = group_members(core).parts();
  if (!core.reductions().may_reduce_on_host()) return {};
  std::size_t bytes = 0;
  for (const AnyTensor* tensor : tensors) {
    if (tensor->dtype() == DType::kBool || !is_visible(*tensor)) return {};
    bytes += tensor->bytes();
  }
  const auto replicas = static_cast<std::size_t>(core.own().count());
  const bool is_long = parts != nullptr && bytes / replicas >= parts->least_bytes();
  return is_long && core.reductions().may_exchange_parts() ? kParts : kHeld;
}

// Taps read elements. In a merge of some replicas, some ranks of the communicator are missing.
bool may_stay(StrategyCore& core, const std::vector<const AnyTensor*>& tensors) {
  const bool is_of_all = &core.members() == &core.all_members();
  if (!is_of_all || step_tap != nullptr || core.members().has_listeners()) return false;
  return std::ranges::all_of(tensors, [&](const AnyTensor* tensor) {
    return tensor->empty() || tensor->placement().backend == &core.backend();
  });
}

// The transport between the devices of processes, as far as this process knows; empty if the
// elements of the tensors have to be sent. The check of sums of integers reads elements.
std::string transport_of(StrategyCore& core, const std::vector<const AnyTensor*>& tensors) {
  if (core.reports_overflow() || tensors.empty() || !may_stay(core, tensors)) return {};
  if (std::ranges::any_of(tensors, &AnyTensor::empty)) return {};
  const ProcessLinks* const links = process_links(core);
  if (links == nullptr) return transport_by_host(core, tensors);
  const bool fit =
      core.reductions().is_native() && std::ranges::all_of(tensors, [&](const AnyTensor* tensor) {
        return links->reduces(tensor->dtype());
      });
  return fit ? std::string(links->transport()) : std::string();
}

// Whether the processes, which have the same transport, can reduce through it.
bool join_by(StrategyCore& core, const std::string& transport, CallSite site) {
  if (transport == kMoves) return true;
  if (transport != kParts && transport != kHeld) return join_processes(core, site);
  if (core.reductions().exchanges_parts()) return true;
  GroupMembers& processes = group_members(core);
  PartsExchange parts{.rank = processes.rank()};
  for (int process = 0; process <= processes.processes(); ++process) {
    parts.first_replica.push_back(processes.first_replica(process));
  }
  parts.exchange = [&processes](const std::exception_ptr& failure, std::span<const SentPart> sent,
                                std::span<const ReceivedPart> received) {
    processes.exchange_parts(failure, sent, received);
  };
  core.reductions().exchange_parts(std::move(parts));
  return true;
}

using Write = FunctionRef<void(ByteWriter&, Elements)>;

// Writes the own message: the transport, and then the values.
void write_message(ByteWriter& out, const std::string& transport, Write write) {
  out.text(transport);
  write(out, transport.empty()    ? Elements::kSent
             : transport == kHeld ? Elements::kHeld
                                  : Elements::kOnDevice);
}

}  // namespace

DType next_dtype(ByteReader& in) {
  const auto dtype = in.get<DType>();
  check(static_cast<int>(dtype) < kNumDTypes, "an element type of a message between processes");
  return dtype;
}

void require_elements(DType dtype, std::span<const std::byte> elements) {
  check(dtype != DType::kBool || first_other_than_bool(elements) == elements.size(),
        "a bool of a message between processes is neither 0 nor 1");
}

void send_tensor(ByteWriter& out, const AnyTensor& tensor, Elements elements) {
  out.put(tensor.empty());
  if (tensor.empty()) return;
  out.put(tensor.dtype());
  out.put(static_cast<std::uint64_t>(tensor.shape().rank()));
  for (int axis = 0; axis < tensor.shape().rank(); ++axis) out.put(tensor.shape().extent(axis));
  out.put(elements);
  if (elements == Elements::kSent) tensor.read(out.make_room(tensor.bytes()));
  if (elements != Elements::kHeld || tensor.bytes() == 0) return;
  Device& own = device_of(tensor.placement());
  order_read(own.compute_stream(), tensor.view());
  auto& device = dynamic_cast<HostVisibleDevice&>(own);
  out.add(device.read_in_place(tensor.view()), tensor.bytes());
}

std::optional<SentTensor> next_tensor(ByteReader& in) {
  if (in.get<bool>()) return std::nullopt;
  const DType dtype = next_dtype(in);
  std::vector<std::int64_t> extents(in.count(sizeof(std::int64_t)));
  for (std::int64_t& extent : extents) extent = in.get<std::int64_t>();
  SentTensor sent{dtype, Shape(std::move(extents))};
  const auto elements = in.get<Elements>();
  if (elements == Elements::kOnDevice) return sent;
  sent.is_held = elements == Elements::kHeld;
  const auto count = static_cast<std::size_t>(sent.shape.count());
  check(count <= in.rest().size() / size_of(dtype), "a message between processes ends early");
  sent.elements = in.skip(count * size_of(dtype));
  require_elements(dtype, {sent.elements, count * size_of(dtype)});
  return sent;
}

AnyTensor receive_tensor(ByteReader& in, Placement place) {
  std::optional<SentTensor> sent = next_tensor(in);
  if (!sent) return {};
  if (sent->elements == nullptr) return elsewhere(sent->dtype, std::move(sent->shape), place);
  if (!sent->is_held) {
    return AnyTensor::from_host(sent->dtype, std::move(sent->shape), sent->elements, place);
  }
  const auto count = static_cast<std::size_t>(sent->shape.count());
  const std::size_t bytes = count * size_of(sent->dtype);
  auto buffer = std::make_shared<HeldElements>(device_of(place), sent->elements, bytes);
  return {BufferView{std::move(buffer), 0, count, sent->dtype}, std::move(sent->shape), place};
}

void write_to_reduce(ByteWriter& out, StrategyCore& core,
                     const std::vector<const AnyTensor*>& tensors, Write write) {
  write_message(out, transport_of(core, tensors), write);
}

bool hosts_reduce(StrategyCore& core, const std::vector<const AnyTensor*>& tensors) {
  return transport_of(core, tensors) == kHeld;
}

namespace {

// A call of a verb in this process.
struct VerbCall {
  StrategyCore& core;
  const char* what;
  CallSite site;
  Write write;
  const ProcessGroup::Fold* fold = nullptr;
};

// Values that were sent with a round, from byte `begin` on.
struct RoundValues {
  std::optional<FoldedBytes> sent{};
  std::size_t begin = 0;
};

// All processes see the same transports, and draw the same conclusion. If the processes differ, or
// if the devices cannot be joined, elements are missing: a second exchange has all elements.
SentValues exchange_by(std::string transport, const VerbCall& call, RoundValues values = {}) {
  GroupMembers& processes = group_members(call.core);
  auto& [sent, begin] = values;
  for (;;) {
    if (!sent) {
      const auto message = [&](ByteWriter& out) { write_message(out, transport, call.write); };
      sent = processes.exchange_to_fold(call.what, call.site, message,
                                        step_tap == nullptr ? call.fold : nullptr);
    }
    SentValues all;
    all.bytes = std::move(sent->all);
    all.folded = std::move(sent->result);
    if (all.folded != nullptr) return all;
    bool all_sent = true;
    bool all_equal = true;
    std::string first;
    for (const Bytes& bytes : all.bytes) {
      const std::span<const std::byte> value(bytes);
      ByteReader& message = all.messages.emplace_back(value.subspan(std::min(begin, value.size())));
      const std::string other = message.rest().empty() ? std::string() : message.text();
      if (all.messages.size() == 1) first = other;
      all_sent = all_sent && other.empty();
      all_equal = all_equal && other == first;
    }
    all.on_devices = !all_sent;
    if (all_sent || (all_equal && join_by(call.core, first, call.site))) return all;
    transport.clear();
    values = {};
  }
}

}  // namespace

SentValues exchange_to_reduce(StrategyCore& core, const char* what, CallSite site,
                              const std::vector<const AnyTensor*>& tensors, Write write,
                              const ProcessGroup::Fold* fold) {
  // Only verbs with a fold send values with a round.
  RoundValues values;
  if (fold != nullptr) {
    GroupMembers& processes = group_members(core);
    values.sent = processes.take_values_of_round();
    if (values.sent) values.begin = processes.values_at();
  }
  return exchange_by(transport_of(core, tensors), {core, what, site, write, fold},
                     std::move(values));
}

SentValues exchange_to_move(StrategyCore& core, const char* what, CallSite site,
                            const std::vector<const AnyTensor*>& tensors, Write write) {
  std::string transport;
  const bool has_devices = core.own().count() > 0;
  if (has_devices && !core.reports_overflow() && may_stay(core, tensors)) {
    const ProcessLinks* const links = process_links(core);
    if (links != nullptr) {
      transport = links->transport();
    } else if (group_members(core).parts() != nullptr) {
      transport = kMoves;
    }
  }
  return exchange_by(std::move(transport), {core, what, site, write});
}

}  // namespace belfry::detail
