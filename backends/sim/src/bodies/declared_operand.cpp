// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "bodies/declared_operand.h"

#include <string_view>

namespace belfry::sim {
namespace {

std::string_view name_of(OperandMode mode) {
  switch (mode) {
    case OperandMode::kReads:
      return "reads";
    case OperandMode::kUpdates:
      return "updates";
    case OperandMode::kWrites:
      return "writes";
    case OperandMode::kScratch:
      return "scratch";
  }
  return "?";
}

}  // namespace

std::string to_string(const DeclaredOperand& operand) {
  return "operand " + std::to_string(operand.number) + " (" + std::string(name_of(operand.mode)) +
         ", " + std::to_string(operand.memory.count) + " x " + to_string(operand.memory.dtype) +
         ")";
}

std::vector<DeclaredOperand> declared_operands(const KernelCall& call) {
  const UserKernel& user = *call.user;
  std::size_t inputs = 0;
  std::size_t results = 0;
  std::size_t scratch = user.count(OperandMode::kUpdates) + user.count(OperandMode::kWrites);
  std::vector<DeclaredOperand> operands;
  for (const OperandMode mode : user.traits().modes) {
    DeclaredOperand operand;
    operand.mode = mode;
    operand.number = operands.size();
    if (mode == OperandMode::kReads) {
      operand.place = inputs++;
    } else {
      operand.place = mode == OperandMode::kScratch ? scratch++ : results++;
    }
    operand.memory = (mode == OperandMode::kReads ? call.inputs : call.outputs)[operand.place];
    operands.push_back(operand);
  }
  return operands;
}

}  // namespace belfry::sim
