// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/access_order.h"
#include "belfry/backend/current_slot.h"
#include "belfry/backend/device.h"
#include "belfry/detail/host_accesses.h"
#include "belfry/detail/launch_operand.h"
#include "belfry/error.h"
#include "values/copy_on_write.h"
#include "values/tensor_operands.h"
#include "words/with_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

// Whether two operands may be the same tensor. Several operands may read a tensor, and a single
// operand may update the tensor.
bool may_be_same(OperandMode a, OperandMode b) {
  const bool reads = a == OperandMode::kReads || b == OperandMode::kReads;
  return reads && a != OperandMode::kWrites && b != OperandMode::kWrites;
}

void require_apart(const TensorCall& call, std::span<const LaunchOperand> operands) {
  for (std::size_t b = 0; b < operands.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      if (operands[a].tensor == nullptr || operands[a].tensor != operands[b].tensor) continue;
      if (may_be_same(operands[a].mode, operands[b].mode)) continue;
      throw InvalidArgumentError(
          ErrorCode::kInvalidArgument,
          fmt::format("{}: operands {} and {} are the same tensor, and the kernel changes the "
                      "tensor",
                      call.what, a, b),
          "a tensor may be in reads and in a single updates; give each further output a tensor of "
          "its own",
          call.site);
    }
  }
}

// The outputs of a launch, each with unshared storage. New storage becomes the tensor's after the
// launch: a launch with an exception changes no value.
class Outputs {
 public:
  void add(const LaunchOperand& operand) {
    AnyTensor& tensor = *operand.changed;
    touched(&tensor, sizeof tensor, true, submitting_site());
    if (operand.mode == OperandMode::kUpdates || tensor.is_foreign()) {
      views_.push_back(tensor.writable(true));
    } else if (counts_as_shared(tensor)) {
      note_copy_for_write(tensor);
      fresh_.emplace_back(&tensor,
                          AnyTensor::allocate(tensor.dtype(), tensor.shape(), tensor.placement()));
      views_.push_back(fresh_.back().second.view());
    } else {
      views_.push_back(tensor.view());
    }
  }
  void add_scratch(std::size_t bytes, const Placement& placement) {
    const Shape shape{static_cast<std::int64_t>(bytes)};
    views_.push_back(AnyTensor::allocate(DType::kUInt8, shape, placement).view());
  }
  std::vector<BufferView> take_views() { return std::move(views_); }
  void keep() {
    for (auto& [tensor, fresh] : fresh_) *tensor = std::move(fresh);
  }

 private:
  std::vector<BufferView> views_;
  std::vector<std::pair<AnyTensor*, AnyTensor>> fresh_;
};

void enqueue(std::shared_ptr<const UserKernel> body, std::span<const LaunchOperand> operands,
             const Placement& placement) {
  Outputs outputs;
  for (const LaunchOperand& operand : operands) {
    if (operand.changed != nullptr) outputs.add(operand);
  }
  for (const LaunchOperand& operand : operands) {
    if (operand.tensor == nullptr) outputs.add_scratch(operand.bytes, placement);
  }
  Kernel kernel;
  kernel.kind = KernelKind::kUser;
  kernel.user = std::move(body);
  // After the outputs: a tensor in both lists is read in its new storage.
  for (const LaunchOperand& operand : operands) {
    if (operand.mode == OperandMode::kReads) kernel.inputs.push_back(operand.tensor->view());
  }
  kernel.outputs = outputs.take_views();
  launch_in_order(device_of(placement).compute_stream(), std::move(kernel));
  outputs.keep();
}

}  // namespace

void require_operands(std::string_view kernel, std::span<const LaunchOperand> operands,
                      CallSite site) {
  const TensorCall call{kernel, site};
  const AnyTensor* first = nullptr;
  for (const LaunchOperand& operand : operands) {
    if (operand.tensor == nullptr) continue;
    require_storage(call, *operand.tensor);
    if (first == nullptr) first = operand.tensor;
    require_same_device(call, *first, *operand.tensor);
  }
  if (first == nullptr) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               fmt::format("{}: no operand is a tensor", kernel),
                               "a launch runs on the device of its tensors: add a tensor", site);
  }
  require_apart(call, operands);
}

void throw_refused_shapes(std::string_view kernel, std::span<const LaunchOperand> operands,
                          CallSite site) {
  std::string shapes;
  for (const LaunchOperand& operand : operands) {
    if (operand.tensor == nullptr) continue;
    shapes += (shapes.empty() ? "" : ", ") + to_string(operand.tensor->shape());
  }
  throw InvalidArgumentError(ErrorCode::kShape,
                             fmt::format("{}: its check refuses the shapes {}", kernel, shapes), {},
                             site);
}

void rethrow_of_check(std::exception_ptr thrown, CallSite site) {
  std::rethrow_exception(at_site(std::move(thrown), site));
}

void launch_user(std::shared_ptr<const UserKernel> body, std::span<const LaunchOperand> operands,
                 CallSite site) {
  const SiteScope scope(site);
  const LaunchOperand* first = nullptr;
  bool has_elements = false;
  for (const LaunchOperand& operand : operands) {
    if (operand.tensor == nullptr) continue;
    if (first == nullptr) first = &operand;
    has_elements = has_elements || operand.tensor->view().count != 0;
  }
  if (!has_elements) return;
  try {
    enqueue(std::move(body), operands, first->tensor->placement());
  } catch (const Error&) {
    std::rethrow_exception(at_site(std::current_exception(), site));
  }
}

}  // namespace belfry::detail
