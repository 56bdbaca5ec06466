// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/checkpoint.h"

#include "belfry/detail/host_values.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/error.h"
#include "run/processes/process_files.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace belfry {
namespace detail {
FileTensor file_tensor(const SavedLeaf& saved, CallSite site) {
  if (saved.leaf.own != nullptr) {
    throw UnsupportedError(
        ErrorCode::kUnsupported,
        "\"" + saved.name + "\" is of type " + name_of(*saved.leaf.own) +
            ", which files do not have",
        "save a variable of its numbers, or read the replica-local variable by a Reduction with "
        "on_save and on_restore",
        site);
  }
  FileTensor tensor{saved.leaf.dtype, saved.shape, std::vector<std::byte>(saved.leaf.bytes())};
  if (tensor.bytes.empty()) return tensor;
  if (saved.leaf.tensor != nullptr) {
    saved.leaf.tensor->read(tensor.bytes.data());
  } else {
    std::memcpy(tensor.bytes.data(), saved.leaf.data, tensor.bytes.size());
  }
  return tensor;
}

void add_to(TensorFile& file, const std::string& name, FileTensor tensor, CallSite site) {
  if (file.tensors.emplace(name, std::move(tensor)).second) return;
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "two parts of variables would be saved as \"" + name + "\"",
                             "rename one of the variables", site);
}

void load_leaf(const TensorFile& file, const SavedLeaf& saved, Placement place, CallSite site) {
  const FileTensor& array = file.tensors.at(saved.name);
  AnyTensor* const tensor = saved.leaf.tensor;
  if (tensor != nullptr) {
    if (tensor->placement().backend != nullptr) place = tensor->placement();
    *tensor = AnyTensor::from_host(array.dtype, array.shape, array.bytes.data(), place, site);
  } else if (!array.bytes.empty()) {
    std::memcpy(saved.leaf.data, array.bytes.data(), array.bytes.size());
  }
}

}  // namespace detail

void Checkpoint::insert(std::unique_ptr<detail::SavedVariable> variable, CallSite site) {
  for (const auto& other : variables_) {
    if (other->info().name != variable->info().name) continue;
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument,
        "the checkpoint has a variable \"" + variable->info().name + "\" already",
        "give variables names of their own: one was made at " + to_string(other->info().created) +
            ", the other at " + to_string(variable->info().created),
        site);
  }
  variables_.push_back(std::move(variable));
}

TensorFile Checkpoint::contents(CallSite site) {
  strategy_.cross_replica().core().require_cross("save", site);
  TensorFile file;
  for (const auto& variable : variables_) variable->save(file, site);
  return file;
}

void Checkpoint::save(const std::filesystem::path& path, CallSite site) {
  const TensorFile file = contents(site);
  detail::save_by_first_process(strategy_.cross_replica().core(), file, path.string(), site);
}

void Checkpoint::restore(const TensorFile& file, const RestoreOptions& options) {
  strategy_.cross_replica().core().require_change("restore", options.site);
  detail::require_split(options.sums, options.site);
  detail::StrategyCore& core = strategy_.cross_replica().core();
  try {
    core.telling_failure(options.site, [&] {
      detail::FileComparison comparison(file);
      for (const auto& variable : variables_) variable->compare(comparison);
      comparison.require_all(options.site);
      for (const auto& variable : variables_) variable->stage(file, options.sums, options.site);
    });
    // The variables of all processes change, or no variable.
    detail::require_same_file(core, file, options.site);
    for (const auto& variable : variables_) {
      detail::send_new_value(core, variable->message(), options.site);
    }
    detail::put_new_values(core, options.site);
  } catch (...) {
    for (const auto& variable : variables_) variable->discard();
    throw;
  }
  for (const auto& variable : variables_) variable->commit();
}

void Checkpoint::restore(const std::filesystem::path& path, const RestoreOptions& options) {
  detail::StrategyCore& core = strategy_.cross_replica().core();
  restore(detail::read_by_first_process(core, path.string(), options.site), options);
}

}  // namespace belfry
