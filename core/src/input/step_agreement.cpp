// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The exchange of processes about a step of a distributed dataset.
#include "belfry/detail/byte_stream.h"
#include "belfry/detail/group_reports.h"
#include "belfry/detail/process_steps.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/error.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

constexpr const char* kRead = "a step of a distributed dataset";

// The words of a process with shares about a step. The last five are told at the first step.
struct Told {
  int process = 0;
  StepEnd end;
  std::uint64_t number = 0;
  std::string options{};
  std::string data{};
  std::uint64_t digest = 0;
  bool is_seen = false;
  bool skips = false;
};

Bytes bytes_of(const StepEnd& own, std::uint64_t number, const StepRecipe& recipe) {
  ByteWriter out;
  out.put(own.has_nothing);
  out.put(own.is_partial);
  out.put(own.lacks_empty);
  out.put(own.takes_shares);
  out.put(own.taken.rows);
  out.put(own.taken.elements);
  out.put(number);
  if (number > 0) return out.bytes();
  out.text(recipe.options);
  out.text(recipe.data.words());
  out.put(recipe.data.digest());
  out.put(recipe.data.is_seen());
  out.put(recipe.data.skips() || recipe.is_rest);
  return out.bytes();
}

Told told_by(int process, const Bytes& bytes) {
  ByteReader in(bytes);
  Told told{.process = process, .end = {}};
  told.end.has_nothing = in.get<bool>();
  told.end.is_partial = in.get<bool>();
  told.end.lacks_empty = in.get<bool>();
  told.end.takes_shares = in.get<bool>();
  told.end.taken.rows = in.get<std::int64_t>();
  told.end.taken.elements = in.get<std::int64_t>();
  told.number = in.get<std::uint64_t>();
  if (told.number > 0) return told;
  told.options = in.text();
  told.data = in.text();
  told.digest = in.get<std::uint64_t>();
  told.is_seen = in.get<bool>();
  told.skips = in.get<bool>();
  return told;
}

[[noreturn]] void refuse_data(const std::string& what, const std::string& hint, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument, what, hint, site);
}

// `A in processes 0,2; B in process 1`: the processes with each text.
template <class Text>
std::string by_process(const std::vector<Told>& all, const Text& text_of) {
  constexpr std::size_t kMost = 4;  // Texts in a message.
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (const Told& told : all) {
    const std::string text = text_of(told);
    const auto same = std::ranges::find(groups, text, [](const auto& one) { return one.first; });
    if (same == groups.end()) {
      groups.push_back({text, {told.process}});
    } else {
      same->second.push_back(told.process);
    }
  }
  std::string texts;
  for (std::size_t i = 0; i < std::min(groups.size(), kMost); ++i) {
    texts += (i == 0 ? "" : "; ") + groups[i].first + " in " + processes_text(groups[i].second);
  }
  if (groups.size() > kMost) texts += "; others in other processes";
  return texts;
}

template <class Member>
bool all_equal(const std::vector<Told>& all, Member Told::* member) {
  return std::ranges::all_of(all,
                             [&](const Told& told) { return told.*member == all.front().*member; });
}

// A process may leave a loop early, and begin the loop again with step 0.
void require_same_step(const std::vector<Told>& all, CallSite site) {
  if (all_equal(all, &Told::number)) return;
  refuse_data(
      "processes read different steps of a dataset: " +
          by_process(all, [](const Told& told) { return "step " + std::to_string(told.number); }),
      "leave the loop over the steps in every process after the same step", site);
}

const char* hint_for(const std::vector<Told>& all) {
  const auto has = [&](const char* call) {
    return std::ranges::any_of(
        all, [&](const Told& told) { return told.data.find(call) != std::string::npos; });
  };
  if (has(".shard(")) {
    return "hand over the whole dataset: each process takes the shares of its replicas; or write "
           ".num_workers = group.size(), .worker = group.rank() for parts";
  }
  if (has(".shuffle(")) {
    return "shuffle with one seed in every process: each process reads the whole dataset, and "
           "takes the shares of its replicas";
  }
  return "make the same dataset in every process: each process reads the whole dataset, and takes "
         "the shares of its replicas";
}

void require_equal_data(const std::vector<Told>& all, CallSite site) {
  if (all_equal(all, &Told::digest)) return;
  const bool tells = !all_equal(all, &Told::data);
  refuse_data("processes distribute different datasets: " +
                  by_process(all,
                             [&](const Told& told) {
                               return told.data +
                                      (tells ? "" : ", digest " + hexadecimal(told.digest));
                             }),
              hint_for(all), site);
}

// Parts of a dataset are equal if each process hands over the whole, or the same part.
void require_other_parts(const std::vector<Told>& all, CallSite site) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!all[i].is_seen || !all[j].is_seen || all[i].digest != all[j].digest) continue;
      refuse_data(
          "processes " + std::to_string(all[j].process) + " and " + std::to_string(all[i].process) +
              " hand over the same data as parts of their own: " + all[i].data,
          "leave num_workers and worker out if every process has the whole dataset, or write "
          ".shard(num_workers, worker)",
          site);
    }
  }
}

// Without the error, a loop without steps ends in silence.
void require_first_step(const std::vector<Told>& all, CallSite site) {
  const auto is_full = [](const Told& told) {
    return !told.end.has_nothing && !told.end.is_partial;
  };
  const auto lacking = std::ranges::find_if_not(all, is_full);
  const auto full = std::ranges::find_if(all, is_full);
  if (lacking == all.end() || full == all.end()) return;
  // After `skip`, and in a rest, the data may have ended.
  if (std::ranges::any_of(all, [](const Told& told) { return told.skips; })) return;
  refuse_data(
      "no step has data in every process: process " + std::to_string(lacking->process) +
          (lacking->end.has_nothing ? " has no data" : " has too few data for its replicas") +
          ", process " + std::to_string(full->process) +
          " has a step, and partial steps are dropped",
      "give each process data: as many files as processes, or rows of all files by shard; or "
      "pad or mask partial steps",
      site);
}

void require_equal_recipes(const std::vector<Told>& all, const StepRecipe& recipe, CallSite site) {
  if (!all_equal(all, &Told::options)) {
    refuse_data("processes distribute different datasets: " +
                    by_process(all, [](const Told& told) { return told.options; }),
                "make the same dataset with the same options in every process", site);
  }
  if (recipe.comparison == DataComparison::kEqual) require_equal_data(all, site);
  if (recipe.comparison == DataComparison::kParts) require_other_parts(all, site);
  if (recipe.drops_partial) require_first_step(all, site);
}

// A process without any batch has no empty batch.
void require_batch_to_pad(const std::vector<Told>& all, CallSite site) {
  const auto lacking =
      std::ranges::find_if(all, [](const Told& told) { return told.end.lacks_empty; });
  if (lacking == all.end()) return;
  refuse_data("process " + std::to_string(lacking->process) +
                  " has no batch, and other processes have batches",
              "give every process at least a batch, or drop partial steps", site);
}

}  // namespace

StepEnd agree_on_step(StrategyCore& core, StepEnd own, std::uint64_t number,
                      const StepRecipe& recipe, CallSite site) {
  if (core.members().is_alone()) return own;
  const std::vector<Bytes> sent =
      core.members().exchange_of_all(kRead, site, bytes_of(own, number, recipe));
  std::vector<Told> all;
  for (std::size_t process = 0; process < sent.size(); ++process) {
    Told told = told_by(static_cast<int>(process), sent[process]);
    // A process without shares knows nothing of the data.
    if (told.end.takes_shares) all.push_back(std::move(told));
  }
  require_same_step(all, site);
  // Also in a process without shares: all processes draw the same conclusion.
  if (!all.empty() && all.front().number == 0) {
    require_equal_recipes(all, recipe, site);
  }
  StepEnd end{.has_nothing = true};
  // Equal in all processes that read whole datasets.
  if (!all.empty()) end.taken = all.front().end.taken;
  for (const Told& told : all) {
    end.has_nothing = end.has_nothing && told.end.has_nothing;
    end.is_partial = end.is_partial || told.end.is_partial || told.end.has_nothing;
  }
  if (!end.has_nothing) require_batch_to_pad(all, site);
  return end;
}

}  // namespace belfry::detail
