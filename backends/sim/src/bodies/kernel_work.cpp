// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "bodies/kernel_work.h"

#include "belfry/backend/unwatched.h"
#include "buffer.h"

#include <cstddef>
#include <vector>

namespace belfry::sim {
namespace {

std::vector<KernelOperand> without_addresses(const std::vector<BufferView>& views) {
  std::vector<KernelOperand> operands;
  operands.reserve(views.size());
  for (const BufferView& view : views) operands.push_back({nullptr, view.count, view.dtype});
  return operands;
}

void give_addresses(std::vector<KernelOperand>& operands,
                    const std::vector<engine::Access>& accesses) {
  for (std::size_t i = 0; i < operands.size(); ++i) operands[i].data = address_of(accesses[i]);
}

}  // namespace

KernelWork::KernelWork(const Kernel& kernel)
    : call_{kernel.kind, kernel.parameters, without_addresses(kernel.outputs),
            without_addresses(kernel.inputs), kernel.user} {}

const KernelCall& KernelWork::at(const engine::Command& command) {
  const detail::Unwatched unwatched;
  give_addresses(call_.outputs, command.writes);
  give_addresses(call_.inputs, command.reads);
  return call_;
}

}  // namespace belfry::sim
