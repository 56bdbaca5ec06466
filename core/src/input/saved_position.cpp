// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The position in a dataset as a member of a checkpoint (SEM-257).
#include "belfry/detail/dataset/dataset_position.h"
#include "belfry/detail/saved_variable.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

// Rows, elements, the digest of the rows, the digest of all calls.
using Numbers = std::vector<std::int64_t>;
constexpr std::size_t kRows = 0;
constexpr std::size_t kElements = 1;
constexpr std::size_t kRowDigest = 2;
constexpr std::size_t kDigest = 3;
constexpr std::size_t kNumbers = 4;

constexpr const char* kOwner = "distributed dataset";

class SavedPosition final : public SavedVariable {
 public:
  SavedPosition(StrategyCore& core, std::string name, std::shared_ptr<DatasetPosition> position,
                CallSite site)
      : core_(core), position_(std::move(position)) {
    info_.owner = position_->core();
    info_.name = std::move(name);
    info_.created = position_->made();
    require(site);
  }

  const VariableInfo& info() const override { return info_; }

  void save(TensorFile& file, CallSite site) override {
    Numbers numbers = numbers_of(position_->taken());
    for (const SavedLeaf& leaf : saved_leaves(info_.name, numbers)) {
      add_to(file, leaf.name, file_tensor(leaf, site), site);
    }
    file.notes[info_.name] = words();
  }

  void compare(FileComparison& comparison) override {
    Numbers numbers = numbers_of({});
    const Numbers own = numbers;
    const SavedLeaf leaf = saved_leaves(info_.name, numbers).front();
    if (!comparison.compare(leaf, false, info_, kOwner)) return;
    load_leaf(comparison.file(), leaf, {}, {});
    const std::string array = "\"" + info_.name + "\"";
    const auto refuse = [&](std::string found) {
      comparison.refuse(
          {info_.name, false, std::move(found), "a position in " + words(), &info_, kOwner});
    };
    if (numbers[kRows] < 0 || numbers[kElements] < 0) {
      refuse(array + " is no position in the file");
    } else if (numbers[kRowDigest] != own[kRowDigest]) {
      refuse(array + " is a position in " + data_in(comparison.file(), numbers) + " in the file");
    }
  }

  void stage(const TensorFile& file, SumSplit /*sums*/, CallSite site) override {
    // A listening process would keep its position.
    core_.members().require_no_listener("a restored position in data", site);
    Numbers numbers = numbers_of({});
    const Numbers own = numbers;
    load_leaf(file, saved_leaves(info_.name, numbers).front(), {}, site);
    staged_ = {numbers[kRows], numbers[kElements]};
    if (numbers[kDigest] != own[kDigest]) staged_.elements = 0;
  }
  const Bytes& message() const override { return no_message_; }
  void commit() noexcept override { position_->restore(staged_); }
  void discard() noexcept override {}

 private:
  void require(CallSite site) const {
    require_owner(core_, info_, site);
    const auto refuse = [&](const std::string& what, const char* hint) {
      throw UnsupportedError(ErrorCode::kUnsupported,
                             "\"" + info_.name + "\" has no position to save: " + what, hint, site);
    };
    if (!position_->has_all_rows()) {
      refuse("the distributed dataset made at " + to_string(info_.created) +
                 " is one part of the data of several workers or processes",
             "hand over the whole dataset: distribute_dataset without num_workers, or with "
             ".equal_steps = true");
    }
    if (!position_->recipe().rereads()) {
      refuse(
          "nothing says that each loop over " + words() + " reads the same elements",
          "say so by a name of the elements, from_generator(start).named(\"a file and a seed\"), "
          "or make the dataset by from, tabulate or range");
    }
  }

  Numbers numbers_of(const RowsTaken& taken) const {
    Numbers numbers(kNumbers);
    numbers[kRows] = taken.rows;
    numbers[kElements] = taken.elements;
    numbers[kRowDigest] = static_cast<std::int64_t>(position_->recipe().row_digest());
    numbers[kDigest] = static_cast<std::int64_t>(position_->recipe().digest());
    return numbers;
  }

  // The words of a long recipe lack the middle: other data may have the same words.
  std::string data_in(const TensorFile& file, const Numbers& numbers) const {
    const std::string digest =
        "digest " + hexadecimal(static_cast<std::uint64_t>(numbers[kDigest]));
    const auto note = file.notes.find(info_.name);
    if (note == file.notes.end()) return "data of " + digest;
    return note->second == words() ? note->second + ", " + digest : note->second;
  }
  const std::string& words() const { return position_->recipe().words(); }

  StrategyCore& core_;
  std::shared_ptr<DatasetPosition> position_;
  VariableInfo info_{};
  RowsTaken staged_{};
  Bytes no_message_{};
};

}  // namespace

std::unique_ptr<SavedVariable> saved_position(StrategyCore& core, const std::string& name,
                                              std::shared_ptr<DatasetPosition> position,
                                              CallSite site) {
  return std::make_unique<SavedPosition>(core, name, std::move(position), site);
}

}  // namespace belfry::detail
