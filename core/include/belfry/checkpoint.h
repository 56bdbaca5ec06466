// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/saved_variable.h"
#include "belfry/strategy.h"
#include "belfry/sum_split.h"
#include "belfry/tensor_file.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace belfry {

/// How variables are restored.
struct RestoreOptions {
  SumSplit sums = SumSplit::kFirst;  ///< What becomes of the total of a replica-local sum.
  CallSite site = CallSite::here();
};

/// Variables of one strategy that are saved to one file, and restored from it, by name: into as
/// many replicas as there are then (SEM-54 to SEM-56).
class Checkpoint {
 public:
  /// The strategy outlives it.
  explicit Checkpoint(Strategy& strategy) : strategy_(strategy) {}

  /// Throws: InvalidArgumentError (kInvalidArgument) when a variable of this name is in it already,
  /// (kVariableEmpty); ContextError (kOtherStrategy).
  template <class T>
  Checkpoint& add(const VariableHandle<T>& variable, CallSite site = CallSite::here()) {
    static_assert(Nest<T>, "only nests can be saved");
    insert(std::make_unique<detail::SavedNest<T>>(strategy_.cross_replica().core(),
                                                  variable.shared_state(), site),
           site);
    return *this;
  }

  /// What would be saved now: of a mirrored variable its value, of a replica-local one what reading
  /// it gives. Context: cross-replica. Order: blocks until all values are computed.
  /// Throws: as Strategy::read; InvalidArgumentError (kInvalidArgument) when two parts of variables
  /// would have one name.
  TensorFile contents(CallSite site = CallSite::here());
  /// Saves those contents to a file (SEM-138). Throws: as contents, and as TensorFile::write.
  void save(const std::filesystem::path& path, CallSite site = CallSite::here());

  /// Gives all variables their values in the file, or none. Other arrays are not looked at.
  /// Context: cross-replica. Order: copies to devices are enqueued; blocks the host to divide sums
  /// of tensors.
  /// Throws: ContextError (kWrongContext, kOtherStrategy); VariableMismatchError
  /// (kVariableMismatch) if a variable is missing in the file, has another type or shape in the
  /// file, or a boolean in the file is neither 0 nor 1; DeviceError (kOutOfMemory); from a path
  /// also InvalidArgumentError (kFileFormat).
  void restore(const TensorFile& file, const RestoreOptions& options = {});
  void restore(const std::filesystem::path& path, const RestoreOptions& options = {});

 private:
  void insert(std::unique_ptr<detail::SavedVariable> variable, CallSite site);

  Strategy& strategy_;
  std::vector<std::unique_ptr<detail::SavedVariable>> variables_;
};

}  // namespace belfry
