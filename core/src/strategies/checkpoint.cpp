// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/checkpoint.h"

#include "belfry/detail/host_values.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/update_argument.h"
#include "belfry/error.h"
#include "run/processes/process_files.h"
#include "values/tensor_file_layout.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
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

void Checkpoint::require_new(const detail::VariableInfo& info, CallSite site) const {
  const auto require_other = [&](const detail::VariableInfo& other) {
    if (other.name != info.name) return;
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument, "the checkpoint has a variable \"" + info.name + "\" already",
        "give variables names of their own: one was made at " + to_string(other.created) +
            ", the other at " + to_string(info.created),
        site);
  };
  for (const auto& variable : variables_) require_other(variable->info());
  for (const auto& shards : shards_) require_other(shards->info());
}

void Checkpoint::insert(std::unique_ptr<detail::SavedVariable> variable, CallSite site) {
  require_new(variable->info(), site);
  variables_.push_back(std::move(variable));
}

void Checkpoint::insert(std::unique_ptr<detail::ShardedArray> shards, CallSite site) {
  require_new(shards->info(), site);
  shards_.push_back(std::move(shards));
}

TensorFile Checkpoint::contents(CallSite site) {
  strategy_.cross_replica().core().require_cross("save", site);
  TensorFile file;
  for (const auto& variable : variables_) variable->save(file, site);
  for (const auto& shards : shards_) {
    const detail::ShardPlan& plan = shards->plan();
    FileTensor array{plan.dtype, plan.whole, {}};
    array.bytes.reserve(static_cast<std::size_t>(plan.whole.count()) * size_of(plan.dtype));
    const auto take = [&array](std::span<const std::byte> elements) {
      array.bytes.insert(array.bytes.end(), elements.begin(), elements.end());
    };
    shards->read(take, site);
    detail::add_to(file, shards->info().name, std::move(array), site);
  }
  return file;
}

void Checkpoint::save(const std::filesystem::path& path, CallSite site) {
  detail::StrategyCore& core = strategy_.cross_replica().core();
  core.require_cross("save", site);
  TensorFile file;
  for (const auto& variable : variables_) variable->save(file, site);
  std::vector<detail::ArrayOutline> arrays;
  for (const auto& shards : shards_) {
    arrays.push_back({shards->info().name, shards->plan().dtype, shards->plan().whole});
  }
  const auto read = [&](int array, detail::TakeElements take) {
    shards_[static_cast<std::size_t>(array)]->read(take, site);
  };
  detail::save_by_first_process(core, file, arrays, read, path.string(), site);
}

void Checkpoint::restore(const TensorFile& file, const RestoreOptions& options) {
  const auto from_memory = [&](detail::ShardedArray& shards) {
    const FileTensor& array = file.tensors.at(shards.info().name);
    const auto give = [&array](std::uint64_t at, std::span<std::byte> to) {
      std::memcpy(to.data(), array.bytes.data() + at, to.size());
    };
    shards.write(give, options.site);
  };
  restore_from(file, options, from_memory);
}

void Checkpoint::restore_from(const TensorFile& file, const RestoreOptions& options,
                              detail::FunctionRef<void(detail::ShardedArray&)> restore_shards) {
  strategy_.cross_replica().core().require_change("restore", options.site);
  detail::require_split(options.sums, options.site);
  detail::StrategyCore& core = strategy_.cross_replica().core();
  for (const auto& shards : shards_) {
    detail::require_no_rows_listen(core, shards->info(), "restoring a sharded variable",
                                   options.site);
  }
  try {
    core.telling_failure(options.site, [&] {
      detail::FileComparison comparison(file);
      for (const auto& variable : variables_) variable->compare(comparison);
      for (const auto& shards : shards_) {
        const detail::ShardPlan& plan = shards->plan();
        detail::SavedLeaf leaf{shards->info().name, plan.whole, {}};
        leaf.leaf.dtype = plan.dtype;
        comparison.compare(leaf, false, shards->info());
      }
      comparison.require_all(options.site);
      for (const auto& variable : variables_) variable->stage(file, options.sums, options.site);
    });
    // The variables of all processes change, or no variable.
    detail::require_same_file(core, file, options.site);
    for (const auto& variable : variables_) {
      detail::send_new_value(core, variable->message(), options.site);
    }
    detail::put_new_values(core, options.site);
    for (const auto& shards : shards_) restore_shards(*shards);
  } catch (...) {
    for (const auto& variable : variables_) variable->discard();
    throw;
  }
  for (const auto& variable : variables_) variable->commit();
}

void Checkpoint::restore(const std::filesystem::path& path, const RestoreOptions& options) {
  detail::StrategyCore& core = strategy_.cross_replica().core();
  if (shards_.empty()) {
    return restore(detail::read_by_first_process(core, path.string(), options.site), options);
  }
  std::set<std::string> names;
  for (const auto& shards : shards_) names.insert(shards->info().name);
  detail::FileOfFirstProcess file(core, path.string(), names, options.site);
  const auto from_file = [&](detail::ShardedArray& shards) {
    const auto give = [&](std::uint64_t at, std::span<std::byte> to) {
      file.read(shards.info().name, at, to);
    };
    shards.write(give, options.site);
  };
  restore_from(file.contents(), options, from_file);
}

}  // namespace belfry
