// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "bodies/kernel_trial.h"

#include <cstdint>
#include <cstring>

namespace belfry::sim {
namespace {

constexpr std::size_t kAlignment = 64;

void fill(std::byte* at, std::size_t bytes, std::byte value) {
  std::memset(at, std::to_integer<int>(value), bytes);
}

// A shifted comparison: each byte is equal to the byte behind, and the first is the value.
bool is_filled(const std::byte* at, std::size_t bytes, std::byte value) {
  return at[0] == value && std::memcmp(at, at + 1, bytes - 1) == 0;
}

}  // namespace

// As a float the bytes are a NaN, a small number, a large number, and a large negative number: sums
// absorb neither of the first two, and maxima and minima show the others.
std::byte fill_byte(DType dtype, int fill) {
  constexpr std::byte kBytes[kTrialFills] = {std::byte{0xFF}, std::byte{0x3C}, std::byte{0x7B},
                                             std::byte{0xFB}};
  // Bytes that stand for no bool are undefined behaviour in a body that reads them.
  if (dtype == DType::kBool) return fill % 2 == 0 ? std::byte{1} : std::byte{0};
  return kBytes[fill];
}

KernelTrial::KernelTrial(const KernelCall& call, std::span<const DeclaredOperand> operands)
    : call_(call), operands_(operands), copies_(operands.size()) {
  for (const DeclaredOperand& operand : operands_) {
    if (operand.mode == OperandMode::kReads) continue;
    take_memory(operand);
    call_.outputs[operand.place].data = copies_[operand.number].data;
  }
  for (const DeclaredOperand& operand : operands_) {
    if (operand.mode != OperandMode::kReads) continue;
    if (!share_updated(operand)) take_memory(operand);
    call_.inputs[operand.place].data = copies_[operand.number].data;
  }
}

void KernelTrial::run(const TrialFills& fills) {
  fills_ = fills;
  for (const DeclaredOperand& operand : operands_) {
    if (is_alias(operand.number)) continue;
    std::byte* const data = copies_[operand.number].data;
    const DType dtype = operand.memory.dtype;
    const std::byte guard = fill_byte(dtype, fills.of(operand.number, TrialPart::kOutside));
    fill(data - kGuardBytes, kGuardBytes, guard);
    fill(data + operand.bytes(), kGuardBytes, guard);
    if (operand.bytes() == 0) continue;
    if (operand.has_contents()) {
      std::memcpy(data, operand.memory.data, operand.bytes());
    } else {
      fill(data, operand.bytes(), fill_byte(dtype, fills.of(operand.number, TrialPart::kInside)));
    }
  }
  run_user_kernel(call_);
}

std::span<const std::byte> KernelTrial::contents(std::size_t operand) const {
  return {copies_[operand].data, operands_[operand].bytes()};
}

std::optional<std::int64_t> KernelTrial::written_outside(std::size_t operand) const {
  if (is_alias(operand)) return std::nullopt;
  const DeclaredOperand& declared = operands_[operand];
  const std::byte guard = fill_byte(declared.memory.dtype, fills_.of(operand, TrialPart::kOutside));
  const std::byte* const begin = copies_[operand].data;
  const std::byte* const end = begin + declared.bytes();
  const std::byte* const before = begin - kGuardBytes;
  if (is_filled(end, kGuardBytes, guard) && is_filled(before, kGuardBytes, guard)) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < kGuardBytes; ++i) {
    if (end[i] == guard) continue;
    return static_cast<std::int64_t>(declared.memory.count + i / declared.element_bytes());
  }
  for (std::size_t i = 0; i < kGuardBytes; ++i) {
    if (*(begin - 1 - i) == guard) continue;
    return -1 - static_cast<std::int64_t>(i / declared.element_bytes());
  }
  return std::nullopt;
}

void KernelTrial::take_memory(const DeclaredOperand& operand) {
  Copy& copy = copies_[operand.number];
  const std::size_t bytes = 2 * kGuardBytes + kAlignment + operand.bytes();
  copy.memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::byte* const first = copy.memory.get() + kGuardBytes;
  const auto wanted = reinterpret_cast<std::uintptr_t>(operand.memory.data);
  copy.data = first + (wanted - reinterpret_cast<std::uintptr_t>(first)) % kAlignment;
}

bool KernelTrial::share_updated(const DeclaredOperand& operand) {
  if (operand.memory.count == 0) return false;
  for (const DeclaredOperand& other : operands_) {
    const bool same = other.memory.data == operand.memory.data;
    if (other.mode != OperandMode::kUpdates || !same) continue;
    copies_[operand.number].data = copies_[other.number].data;
    return true;
  }
  return false;
}

}  // namespace belfry::sim
