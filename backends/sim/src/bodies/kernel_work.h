// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"
#include "engine/command.h"

namespace belfry::sim {

/// A validated kernel on its way through a queue. The addresses of its operands are known only at
/// its run, for bytes shared by several buffers move at a write.
class KernelWork {
 public:
  explicit KernelWork(const Kernel& kernel);

  /// The kernel on the current memory of `command`: the command's writes are the kernel's outputs,
  /// its first reads the kernel's inputs.
  const KernelCall& at(const engine::Command& command);

 private:
  KernelCall call_;
};

}  // namespace belfry::sim
