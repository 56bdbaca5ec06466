// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"
#include "bodies/declared_operand.h"
#include "bodies/kernel_trial.h"

#include <cstddef>
#include <vector>

namespace belfry::sim {

/// Runs the body of a user's kernel on guarded copies of its operands, and compares the accesses
/// with the declaration of the launch (SEM-174). The first two runs are equal; each further run has
/// other bytes in all memory that the body may not depend on, such as the guards. A result that
/// differs shows an access outside of the declaration.
class CheckedBody {
 public:
  /// Takes the memory of all runs. `call` lives as long as the CheckedBody. Throws: std::bad_alloc.
  explicit CheckedBody(const KernelCall& call);
  CheckedBody(const CheckedBody&) = delete;
  CheckedBody& operator=(const CheckedBody&) = delete;

  /// Runs the body, and gives the operands of the call the results. Throws: DeviceError
  /// (kOutOfBounds, kUninitialised, kNotDeterministic) for accesses outside of the declaration;
  /// the exceptions of the body. After an exception the operands are as before.
  void run();

 private:
  // An element of a result.
  struct Place {
    const DeclaredOperand* operand = nullptr;
    std::size_t element = 0;
  };

  void run_within(KernelTrial& trial, int fill);
  // The first element that differs between the two trials; without an operand if none does.
  Place difference() const;
  bool differs(const Place& place) const;
  bool has_fills(const Place& place, int fill) const;
  [[noreturn]] void throw_dependence(const Place& place, int fill);

  const std::vector<DeclaredOperand> operands_;
  KernelTrial first_;
  KernelTrial second_;
};

}  // namespace belfry::sim
