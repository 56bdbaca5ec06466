// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/saved_variable.h"
#include "belfry/detail/variable/sum_split.h"
#include "belfry/strategy.h"
#include "belfry/tensor_file.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace belfry {

/// Options of a restore.
struct RestoreOptions {
  SumSplit sums = SumSplit::kFirst;  ///< How the total of a replica-local sum is split.
  CallSite site = CallSite::here();  ///< The call, for messages.
};

/// `{.sums = belfry::SumSplit::kDivide}` or `{}`.
std::string to_string(const RestoreOptions& options);

namespace detail {
template <>
inline constexpr bool kPrints<RestoreOptions> = true;
}  // namespace detail

/// Variables of a strategy, saved to a file and restored from a file by name. The number of
/// replicas may differ between the save and the restore (SEM-54 to SEM-56).
class Checkpoint {
 public:
  /// The strategy must outlive the checkpoint.
  explicit Checkpoint(Strategy& strategy) : strategy_(strategy) {}

  /// Adds a variable. Throws: InvalidArgumentError (kInvalidArgument) if the checkpoint has a
  /// variable of the same name, (kVariableEmpty); ContextError (kOtherStrategy).
  template <class T>
  Checkpoint& add(const VariableHandle<T>& variable, CallSite site = CallSite::here()) {
    if constexpr (detail::require_nest<T>()) {
      insert(std::make_unique<detail::SavedNest<T>>(strategy_.cross_replica().core(),
                                                    variable.shared_state(), site),
             site);
    }
    return *this;
  }

  /// The contents of a save: the value of each mirrored variable, and for each replica-local
  /// variable the result of a read. Context: cross-replica. Order: blocks the host until all values
  /// are computed.
  /// Throws: as Strategy::read; InvalidArgumentError (kInvalidArgument) if two parts of variables
  /// would have the same name; VariableMismatchError (kVariableMismatch) for a value that no
  /// restore could give back (SEM-55).
  TensorFile contents(CallSite site = CallSite::here());
  /// Saves the contents to a file, which belongs to this job afterwards (SEM-138). Throws: as
  /// contents, and as TensorFile::write; InvalidArgumentError (kFile) if another job has saved to
  /// the file since this job saved or restored the file.
  void save(const std::filesystem::path& path, CallSite site = CallSite::here());

  /// Gives all variables their values in the file, or none. All other arrays are ignored.
  /// Context: cross-replica. Order: copies to devices are enqueued; blocks the host to divide sums
  /// of tensors.
  /// Throws: ContextError (kWrongContext, kOtherStrategy); VariableMismatchError
  /// (kVariableMismatch) with a list of all arrays missing in the file, of a different type or
  /// shape in the file, or with booleans besides 0 and 1, and of the arrays of the file that no
  /// variable asks for if some array is missing; DeviceError (kOutOfMemory);
  /// InvalidArgumentError (kInvalidArgument) if processes restore different contents; from a path
  /// also InvalidArgumentError (kFileFormat).
  void restore(const TensorFile& file, const RestoreOptions& options = {});
  void restore(const std::filesystem::path& path, const RestoreOptions& options = {});

 private:
  void insert(std::unique_ptr<detail::SavedVariable> variable, CallSite site);

  Strategy& strategy_;
  std::vector<std::unique_ptr<detail::SavedVariable>> variables_;
};

}  // namespace belfry
