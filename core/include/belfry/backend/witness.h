// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"

namespace belfry {

/// A second base of an Executor that hears of variables made in replicas (SEM-48): the making comes
/// before each use, also if no replica waits. Core looks for the base with a dynamic_cast, whenever
/// a replica makes a variable.
class VariableWitness {
 public:
  VariableWitness() = default;
  VariableWitness(const VariableWitness&) = delete;
  VariableWitness& operator=(const VariableWitness&) = delete;
  virtual ~VariableWitness() = default;

  /// Called on the first replica, before another replica can take `variable`.
  virtual void made(const void* variable) = 0;
  /// Called on a replica that has taken `variable`.
  virtual void taken(const void* variable) = 0;
};

/// A second base of a Device that decides copies before writes with core, and hears of the copies.
/// Core looks for the base with copy_witness_of, whenever a replica writes a tensor, or the storage
/// of a written tensor has a second owner.
class CopyWitness {
 public:
  CopyWitness() = default;
  CopyWitness(const CopyWitness&) = delete;
  CopyWitness& operator=(const CopyWitness&) = delete;
  virtual ~CopyWitness() = default;

  /// Whether storage with a single owner counts as shared for the calling replica, because a second
  /// replica has used the storage since the last meeting of all replicas (SEM-194). Called before
  /// the write.
  virtual bool is_used_by_others(const BufferView& view) = 0;
  /// Called before the copy. With a single owner, the caller would write to `view` itself.
  virtual void copies_for_write(const BufferView& view) = 0;
};

namespace detail {

/// The CopyWitness of `device`, or null.
CopyWitness* copy_witness_of(Device& device);

}  // namespace detail
}  // namespace belfry
