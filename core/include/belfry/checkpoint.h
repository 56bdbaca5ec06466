// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/dataset/dataset_position.h"
#include "belfry/detail/saved_variable.h"
#include "belfry/detail/sharded_array.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/sharded_variable.h"
#include "belfry/strategy.h"
#include "belfry/tensor_file.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace belfry {

/// Options of a restore.
struct RestoreOptions {
  /// How the total of a replica-local sum is split: kFirst gives replica 0 everything and is exact,
  /// kDivide gives each replica a share and may round.
  SumSplit sums = SumSplit::kFirst;
  CallSite site = CallSite::here();  ///< The call, for messages.
};

/// `{.sums = belfry::SumSplit::kDivide}` or `{}`.
std::string to_string(const RestoreOptions& options);

/// Saves variables of a strategy, and positions in its data, to a file, and restores them by name,
/// also on another number of replicas (SEM-54 to SEM-56).
///
///     Checkpoint checkpoint(strategy);
///     checkpoint.add(weights).add(step);      // Variables with names.
///     checkpoint.save("model.belfry");
///     checkpoint.restore("model.belfry");     // In this job or a later one.
///
/// The strategy outlives the checkpoint. A file appears as a whole, or the former one stays. Over
/// several processes all save and restore together, and process 0 writes and reads the file.
class Checkpoint {
 public:
  /// Without variables.
  explicit Checkpoint(Strategy& strategy) : strategy_(strategy) {}

  /// Adds a sharded variable, saved as one array: on any other number of replicas and processes a
  /// restore gives each replica its rows. Files are written and read in pieces, and no process
  /// holds the whole (SEM-283).
  /// Throws: as add of other variables.
  template <class T>
  Checkpoint& add(const ShardedVariable<T>& variable, CallSite site = CallSite::here()) {
    detail::require_owner(strategy_.cross_replica().core(), variable.state(site).info, site);
    insert(detail::sharded_array(variable, site), site);
    return *this;
  }
  /// Adds a variable.
  /// Throws:
  /// - InvalidArgumentError (kInvalidArgument): the checkpoint has a variable of the same name;
  /// - InvalidArgumentError (kVariableEmpty): a handle that names no variable;
  /// - ContextError (kOtherStrategy): a variable of another strategy.
  template <class T>
  Checkpoint& add(const VariableHandle<T>& variable, CallSite site = CallSite::here()) {
    if constexpr (detail::require_nest<T>()) {
      insert(std::make_unique<detail::SavedNest<T>>(strategy_.cross_replica().core(),
                                                    variable.shared_state(), site),
             site);
    }
    return *this;
  }
  /// Adds the position of a distributed dataset under a name (SEM-255 to SEM-258): after a restore
  /// the next loop has the rows that were not handed out before the save, and later loops have all
  /// rows.
  ///
  ///     checkpoint.add("rows", data);
  ///
  /// Throws:
  /// - InvalidArgumentError (kInvalidArgument): the name is taken;
  /// - ContextError (kOtherStrategy): a dataset of another strategy;
  /// - UnsupportedError (kUnsupported): functions give the elements, without a name; or the dataset
  ///   is the part of a process without `shard` (SEM-258).
  template <class B>
  Checkpoint& add(const std::string& name, const DistributedDataset<B>& data,
                  CallSite site = CallSite::here()) {
    insert(detail::saved_position(strategy_.cross_replica().core(), name, data.position(), site),
           site);
    return *this;
  }

  /// The contents of a save, in memory: the value of each mirrored variable, the result of a read
  /// of each replica-local variable, and the whole of each sharded variable.
  /// Order: blocks the host until all values are computed.
  /// Throws:
  /// - the errors of Strategy::read;
  /// - InvalidArgumentError (kInvalidArgument): two parts of variables would have the same name;
  /// - VariableMismatchError (kVariableMismatch): a value that no restore could give back (SEM-55).
  TensorFile contents(CallSite site = CallSite::here());
  /// Saves the contents to a file, which belongs to this job afterwards (SEM-138).
  /// Order: blocks the host until the file is written.
  /// Throws:
  /// - the errors of contents, and of TensorFile::write;
  /// - InvalidArgumentError (kFile): another job has saved to the file since this job saved or
  ///   restored the file.
  void save(const std::filesystem::path& path, CallSite site = CallSite::here());

  /// Gives all variables their values in the file, or none; ignores all other arrays of the file.
  /// Sharded variables change in their own memory, after all checks: if a read fails then, they
  /// have no value any more (SEM-283).
  /// Order: copies to devices are enqueued; blocks the host to divide sums of tensors.
  /// Throws:
  /// - ContextError (kWrongContext, kOtherStrategy): inside a replica or another strategy;
  /// - VariableMismatchError (kVariableMismatch), with a list: arrays that are missing in the file,
  ///   have another type or shape there, hold booleans besides 0 and 1, or are positions in other
  ///   data; if arrays are missing, also the arrays of the file that no variable asks for;
  /// - InvalidArgumentError (kInvalidArgument): processes restore different contents;
  /// - InvalidArgumentError (kFileFormat): the file cannot be read;
  /// - DeviceError (kOutOfMemory).
  void restore(const TensorFile& file, const RestoreOptions& options = {});
  void restore(const std::filesystem::path& path, const RestoreOptions& options = {});

 private:
  void insert(std::unique_ptr<detail::SavedVariable> variable, CallSite site);
  void insert(std::unique_ptr<detail::ShardedArray> shards, CallSite site);
  void require_new(const detail::VariableInfo& info, CallSite site) const;
  void restore_from(const TensorFile& file, const RestoreOptions& options,
                    detail::FunctionRef<void(detail::ShardedArray&)> restore_shards);

  Strategy& strategy_;
  std::vector<std::unique_ptr<detail::SavedVariable>> variables_;
  std::vector<std::unique_ptr<detail::ShardedArray>> shards_;
};

}  // namespace belfry
