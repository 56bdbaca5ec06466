// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/tensor_moves.h"

#include "belfry/backend/current_slot.h"
#include "values/elsewhere.h"

#include <algorithm>
#include <vector>

namespace belfry::detail {

// The rank of a replica in the communicator of the processes is its id.
AnyTensor TensorMoves::add(const AnyTensor& tensor, int from, const std::vector<int>& receivers) {
  // A default-constructed tensor is sent as it is.
  if (!on_devices_ || (tensor.empty() && !is_elsewhere(tensor))) return tensor;
  const RoundMembers& members = core_.members();
  const bool moves = tensor.shape().count() != 0;
  AnyTensor here = tensor;
  std::vector<int> reached{members.process_of(from)};
  for (const int to : receivers) {
    const int process = members.process_of(to);
    if (std::ranges::find(reached, process) != reached.end()) continue;
    reached.push_back(process);
    if (process == members.rank()) {
      here = AnyTensor::allocate(tensor.dtype(), tensor.shape(), core_.placement(to));
      if (moves) transfers_.push_back({from, to, {}, here.view()});
    } else if (reached.front() == members.rank() && moves) {
      transfers_.push_back({from, to, tensor.copy_to(core_.placement(from)).view(), {}});
    }
  }
  return here;
}

void TensorMoves::run(CallSite site) {
  const SiteScope scope(site);
  if (!transfers_.empty()) core_.reductions().exchange(transfers_);
}

}  // namespace belfry::detail
