// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"
#include "engine/command.h"

namespace belfry::sim {

/// A validated kernel on its way through a queue. Where its operands are is known only when it
/// runs: bytes that several buffers share move when one of them is written.
class KernelWork {
 public:
  explicit KernelWork(const Kernel& kernel);

  /// The kernel on the memory that `command` has now: its writes are the kernel's outputs, its
  /// first reads the kernel's inputs.
  const KernelCall& at(const engine::Command& command);

 private:
  KernelCall call_;
};

}  // namespace belfry::sim
