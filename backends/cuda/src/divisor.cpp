// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "divisor.h"

#include "belfry/backend/kernel.h"
#include "work_trace.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace belfry::cuda {
namespace {

constexpr std::array kTypes = {DType::kFloat32, DType::kFloat64};
constexpr std::size_t kSlotBytes = 8;  // Of the widest type.

template <class T>
void put(std::byte* bytes, DType dtype, T value) {
  const auto* slot = std::ranges::find(kTypes, dtype);
  std::memcpy(bytes + (slot - kTypes.begin()) * static_cast<std::ptrdiff_t>(kSlotBytes), &value,
              sizeof value);
}

}  // namespace

Divisor::Divisor(Device& device, int value) {
  std::array<std::byte, kSlotBytes * kTypes.size()> bytes{};
  put(bytes.data(), DType::kFloat32, static_cast<float>(value));
  put(bytes.data(), DType::kFloat64, static_cast<double>(value));
  const UntoldWork own;
  belfry::Stream& stream = device.communication_stream();
  buffer_ = device.allocate(bytes.size(), stream);
  stream.write(view_of(buffer_, DType::kUInt8), bytes.data());
  stream.synchronize();
}

void Divisor::divide(const BufferView& view, belfry::Stream& stream) const {
  const auto* slot = std::ranges::find(kTypes, view.dtype);
  const auto offset = static_cast<std::size_t>(slot - kTypes.begin()) * kSlotBytes;
  Kernel kernel;
  kernel.kind = KernelKind::kBinary;
  kernel.parameters.binary = BinaryOp::kDivide;
  kernel.parameters.broadcast = Broadcast::kScalar;
  kernel.parameters.rows = 1;
  kernel.parameters.columns = static_cast<std::int64_t>(view.count);
  kernel.outputs = {view};
  kernel.inputs = {view, BufferView{buffer_, offset, 1, view.dtype}};
  stream.launch(std::move(kernel));
}

}  // namespace belfry::cuda
