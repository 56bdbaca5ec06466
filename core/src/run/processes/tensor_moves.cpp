// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/tensor_moves.h"

#include "backend/access_order.h"
#include "belfry/backend/current_slot.h"
#include "belfry/backend/process_parts.h"
#include "run/processes/group_members.h"
#include "values/elsewhere.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace belfry::detail {
namespace {

// The bytes of a tensor, in host memory, in an exchange with a process.
struct HostCopy {
  const BufferView& view;
  int process;
  bool is_sent;
  std::shared_ptr<std::byte> bytes{new std::byte[view.bytes()], std::default_delete<std::byte[]>()};

  Stream& stream() const { return view.buffer->device().compute_stream(); }
};

std::vector<HostCopy> host_copies(StrategyCore& core, std::span<const Transfer> transfers) {
  std::vector<HostCopy> copies;
  for (const Transfer& one : transfers) {
    const bool is_sent = core.own().has(one.from);
    const int peer = core.members().process_of(is_sent ? one.to : one.from);
    const HostCopy& copy =
        copies.emplace_back(HostCopy{is_sent ? one.input : one.output, peer, is_sent});
    if (!is_sent) continue;
    order_read(copy.stream(), copy.view);
    copy.stream().read(copy.bytes.get(), copy.view);
  }
  return copies;
}

// Every process makes this call.
void move_by_hosts(StrategyCore& core, std::span<const Transfer> transfers,
                   std::exception_ptr failure) {
  std::vector<HostCopy> copies;
  try {
    if (failure == nullptr) copies = host_copies(core, transfers);
  } catch (...) {
    failure = std::current_exception();
  }
  std::vector<SentPart> sent;
  std::vector<ReceivedPart> received;
  for (const HostCopy& copy : copies) {
    const std::size_t bytes = copy.view.bytes();
    if (copy.is_sent) sent.push_back({copy.process, copy.bytes, bytes});
    if (!copy.is_sent) received.push_back({copy.process, copy.bytes, bytes});
  }
  group_members(core).exchange_parts(failure, sent, received);
  for (const HostCopy& copy : copies) {
    if (!copy.is_sent) copy.stream().write(copy.view, copy.bytes.get());
  }
}

}  // namespace

AnyTensor TensorMoves::add(const AnyTensor& tensor, int from, const std::vector<int>& receivers) {
  AnyTensor here = tensor;
  // A default-constructed tensor is sent as it is.
  const bool has_elements = !tensor.empty() || is_elsewhere(tensor);
  if (!on_devices_ || !has_elements || failure_ != nullptr) return here;
  try {
    add_transfers(here, from, receivers);
  } catch (...) {
    fail(std::current_exception());
  }
  return here;
}

// The rank of a replica in the communicator of the processes is its id.
void TensorMoves::add_transfers(AnyTensor& tensor, int from, const std::vector<int>& receivers) {
  const RoundMembers& members = core_.members();
  const bool moves = tensor.shape().count() != 0;
  std::vector<int> reached{members.process_of(from)};
  for (const int to : receivers) {
    const int process = members.process_of(to);
    if (std::ranges::find(reached, process) != reached.end()) continue;
    reached.push_back(process);
    if (process == members.rank()) {
      tensor = AnyTensor::allocate(tensor.dtype(), tensor.shape(), core_.placement(to));
      if (moves) transfers_.push_back({from, to, {}, tensor.view()});
    } else if (reached.front() == members.rank() && moves) {
      transfers_.push_back({from, to, tensor.copy_to(core_.placement(from)).view(), {}});
    }
  }
}

void TensorMoves::run(CallSite site) {
  if (!on_devices_) return;
  const SiteScope scope(site);
  if (core_.reductions().process_communicator() == nullptr) {
    return move_by_hosts(core_, transfers_, failure_);
  }
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  if (!transfers_.empty()) core_.reductions().exchange(transfers_);
}

}  // namespace belfry::detail
