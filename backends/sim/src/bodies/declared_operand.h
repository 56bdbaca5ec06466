// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"
#include "belfry/backend/user_kernel.h"

#include <cstddef>
#include <string>
#include <vector>

namespace belfry::sim {

/// An operand of a launch of a user's kernel, with the declaration of the launch.
struct DeclaredOperand {
  OperandMode mode = OperandMode::kReads;
  std::size_t number = 0;  ///< In the launch, from 0.
  std::size_t place = 0;   ///< In KernelCall::inputs for kReads, else in KernelCall::outputs.
  KernelOperand memory{};  ///< The operand of the call.

  std::size_t element_bytes() const { return size_of(memory.dtype); }
  std::size_t bytes() const { return memory.count * element_bytes(); }
  /// Whether the operand has contents before the body.
  bool has_contents() const { return mode == OperandMode::kReads || mode == OperandMode::kUpdates; }
  /// Whether the operand is a tensor that the body changes.
  bool is_result() const { return mode == OperandMode::kUpdates || mode == OperandMode::kWrites; }
};

/// `operand 1 (updates, 4 x float32)`.
std::string to_string(const DeclaredOperand& operand);

/// The operands of a kUser call in the order of the launch.
std::vector<DeclaredOperand> declared_operands(const KernelCall& call);

}  // namespace belfry::sim
