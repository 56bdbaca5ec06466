// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The position in a dataset as a member of a checkpoint (SEM-257).
#include "belfry/detail/byte_stream.h"
#include "belfry/detail/dataset/dataset_position.h"
#include "belfry/detail/dataset/recipe.h"
#include "belfry/detail/dataset/row_set.h"
#include "belfry/detail/saved_variable.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/error.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

// The rows from 0 on, elements, the digest of the rows, the digest of all calls; then the begin and
// the end of each further range of rows.
using Numbers = std::vector<std::int64_t>;
constexpr std::size_t kRows = 0;
constexpr std::size_t kElements = 1;
constexpr std::size_t kRowDigest = 2;
constexpr std::size_t kDigest = 3;
constexpr std::size_t kNumbers = 4;

constexpr const char* kOwner = "distributed dataset";
constexpr const char* kExchange = "the position in parts of the data";

// The rows in an array; nothing unless the array is a position.
std::optional<RowSet> rows_in(const Numbers& numbers) {
  RowSet rows;
  if (numbers[kRows] < 0 || numbers[kElements] < 0) return std::nullopt;
  rows.add(0, numbers[kRows]);
  for (std::size_t i = kNumbers; i < numbers.size(); i += 2) {
    const std::int64_t behind = rows.empty() ? 0 : rows.ranges().back().end;
    if (numbers[i] <= behind || numbers[i] >= numbers[i + 1]) return std::nullopt;
    rows.add(numbers[i], numbers[i + 1]);
  }
  return rows;
}

// The calls behind the data of all processes.
struct SourceWords {
  std::uint64_t row_digest = 0;
  std::uint64_t digest = 0;
  std::string words{};
};

class SavedPosition final : public SavedVariable {
 public:
  SavedPosition(StrategyCore& core, std::string name, std::shared_ptr<DatasetPosition> position,
                CallSite site)
      : core_(core), position_(std::move(position)) {
    info_.owner = position_->core();
    info_.name = std::move(name);
    info_.created = position_->info.created;
    require(site);
  }

  const VariableInfo& info() const override { return info_; }

  void save(TensorFile& file, CallSite site) override {
    const LoopPosition& now = position_->now();
    SourceWords source = own_words();
    const RowSet rows =
        part().is_part ? rows_of_parts(source, site) : now.before.with_next({now.rows});
    Numbers numbers = {rows.front(), part().is_part ? 0 : now.elements,
                       static_cast<std::int64_t>(source.row_digest),
                       static_cast<std::int64_t>(source.digest)};
    for (const RowRange& range : rows.ranges()) {
      if (range.begin > 0) numbers.insert(numbers.end(), {range.begin, range.end});
    }
    for (const SavedLeaf& leaf : saved_leaves(info_.name, numbers)) {
      add_to(file, leaf.name, file_tensor(leaf, site), site);
    }
    file.notes[info_.name] = source.words;
  }

  void compare(FileComparison& comparison) override {
    Numbers numbers = fitting(comparison.file());
    const SavedLeaf leaf = saved_leaves(info_.name, numbers).front();
    if (!comparison.compare(leaf, false, info_, kOwner)) return;
    load_leaf(comparison.file(), leaf, {}, {});
    const std::string array = "\"" + info_.name + "\"";
    const auto refuse = [&](std::string found) {
      comparison.refuse(
          {info_.name, false, std::move(found), "a position in " + words(), &info_, kOwner});
    };
    if (!rows_in(numbers)) {
      refuse(array + " is no position in the file");
    } else if (part().part >= 0 &&
               static_cast<std::uint64_t>(numbers[kRowDigest]) != own_words().row_digest) {
      refuse(array + " is a position in " + data_in(comparison.file(), numbers) + " in the file");
    }
  }

  void stage(const TensorFile& file, SumSplit /*sums*/, CallSite site) override {
    // A listening process would keep its position.
    core_.members().require_no_listener("a restored position in data", site);
    Numbers numbers = fitting(file);
    load_leaf(file, saved_leaves(info_.name, numbers).front(), {}, site);
    staged_ = std::make_shared<LoopPosition>();
    staged_->before = rows_in(numbers).value_or(RowSet());
    staged_->is_restored = true;
    const bool counts =
        !part().is_part && static_cast<std::uint64_t>(numbers[kDigest]) == own_words().digest;
    if (counts) staged_->elements = numbers[kElements];
  }
  const Bytes& message() const override { return no_message_; }
  void commit() noexcept override { position_->restore(std::move(staged_)); }
  void discard() noexcept override { staged_ = nullptr; }

 private:
  const DataPart& part() const { return position_->part(); }
  const std::string& words() const { return position_->recipe().words(); }

  void require(CallSite site) const {
    require_owner(core_, info_, site);
    const auto refuse = [&](const std::string& what, const char* hint) {
      throw UnsupportedError(ErrorCode::kUnsupported,
                             "\"" + info_.name + "\" has no position to save: " + what, hint, site);
    };
    if (part().part < 0) return;  // Read by all further processes.
    const RowShard rows = position_->recipe().row_shard();
    if (part().is_part && (rows.parts != part().parts || rows.part != part().part)) {
      refuse("the distributed dataset made at " + to_string(info_.created) +
                 " is one part of the data of several processes, and nothing says which rows " +
                 words() + " has",
             "choose the part by .shard(processes, process) behind shuffle, repeat, filter and "
             "take, and before .batch(rows); or hand over the whole dataset: distribute_dataset "
             "without num_workers");
    }
    if (!position_->recipe().rereads()) {
      refuse(
          "nothing says that each loop over " + words() + " reads the same elements",
          "say so by a name of the elements, from_generator(start).named(\"a file and a seed\"), "
          "or make the dataset by from, tabulate or range");
    }
  }

  SourceWords own_words() const {
    const Recipe& recipe = position_->recipe();
    return {part().is_part ? recipe.row_shard().row_digest : recipe.row_digest(), recipe.digest(),
            recipe.words()};
  }

  // The rows of all parts, by an exchange of the processes. `source` gets the words of the first
  // part.
  RowSet rows_of_parts(SourceWords& source, CallSite site) const {
    ByteWriter out;
    out.put(static_cast<std::int64_t>(part().part));
    const LoopPosition& now = position_->now();
    out.put(now.has_rows ? now.rows : std::int64_t{-1});
    out.put(source.row_digest);
    out.put(source.digest);
    out.text(source.words);
    std::vector<std::int64_t> rows(static_cast<std::size_t>(part().parts));
    std::vector<SourceWords> sources(rows.size());
    for (const Bytes& message : core_.members().exchange_of_all(kExchange, site, out.bytes())) {
      ByteReader in(message);
      const auto from = in.get<std::int64_t>();
      if (from < 0) continue;
      const auto index = static_cast<std::size_t>(from);
      rows[index] = in.get<std::int64_t>();
      sources[index].row_digest = in.get<std::uint64_t>();
      sources[index].digest = in.get<std::uint64_t>();
      sources[index].words = in.text();
    }
    source = sources.front();
    if (std::ranges::find(rows, -1) != rows.end()) {
      throw UnsupportedError(
          ErrorCode::kUnsupported,
          "\"" + info_.name + "\" has no position to save: elements without rows were handed out",
          "let elements be batches of the rows of shard, or hand over the whole dataset", site);
    }
    for (const SourceWords& other : sources) {
      if (other.row_digest == source.row_digest) continue;
      throw InvalidArgumentError(
          ErrorCode::kInvalidArgument,
          "\"" + info_.name +
              "\" has no position to save: processes read parts of different data, " +
              source.words + " and " + other.words,
          "make the same dataset in every process, up to the numbers of shard", site);
    }
    return now.before.with_next(std::move(rows));
  }

  // Numbers as many as the file has.
  Numbers fitting(const TensorFile& file) const {
    std::size_t count = kNumbers;
    const auto found = file.tensors.find(info_.name);
    if (found != file.tensors.end() && found->second.shape.rank() == 1) {
      const auto there = static_cast<std::size_t>(found->second.shape.count());
      if (there > kNumbers && there % 2 == 0) count = there;
    }
    return Numbers(count);
  }

  // The words of a long recipe lack the middle: other data may have the same words.
  std::string data_in(const TensorFile& file, const Numbers& numbers) const {
    const std::string digest =
        "digest " + hexadecimal(static_cast<std::uint64_t>(numbers[kDigest]));
    const auto note = file.notes.find(info_.name);
    if (note == file.notes.end()) return "data of " + digest;
    return note->second == words() ? note->second + ", " + digest : note->second;
  }

  StrategyCore& core_;
  std::shared_ptr<DatasetPosition> position_;
  VariableInfo info_{};
  std::shared_ptr<LoopPosition> staged_{};
  Bytes no_message_{};
};

}  // namespace

std::unique_ptr<SavedVariable> saved_position(StrategyCore& core, const std::string& name,
                                              std::shared_ptr<DatasetPosition> position,
                                              CallSite site) {
  return std::make_unique<SavedPosition>(core, name, std::move(position), site);
}

}  // namespace belfry::detail
