// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/shrunk_answers.h"

#include <algorithm>
#include <utility>

namespace belfry::sim {
namespace {

std::vector<std::size_t> positions_of_departures(const Answers& answers) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] != 0) positions.push_back(i);
  }
  return positions;
}

class Search {
 public:
  Search(Answers answers, int most_trials, const AnswerTrial& trial)
      : answers_(std::move(answers)),
        departures_(positions_of_departures(answers_)),
        left_(most_trials),
        trial_(trial) {}

  Answers run() {
    for (std::size_t group = half(); departures_.size() > 1 && left_ > 0;) {
      const bool found = zero_groups_of(group);
      if (group == 1 && !found) break;
      group = std::clamp<std::size_t>(group / 2, 1, half());
    }
    return std::move(answers_);
  }

 private:
  std::size_t half() const { return std::max<std::size_t>(1, departures_.size() / 2); }

  // Whether any group is gone. The departures before a group keep their questions.
  bool zero_groups_of(std::size_t group) {
    bool found = false;
    for (std::size_t end = departures_.size(); end > 0 && left_ > 0;) {
      const std::size_t begin = end - std::min(group, end);
      found = zero(begin, end) || found;
      end = std::min(begin, departures_.size());
    }
    return found;
  }

  bool zero(std::size_t begin, std::size_t end) {
    Answers fewer = answers_;
    for (std::size_t i = begin; i < end; ++i) fewer[departures_[i]] = 0;
    --left_;
    std::optional<Answers> given = trial_(fewer);
    if (!given || departures_in(*given) >= departures_.size()) return false;
    answers_ = std::move(*given);
    departures_ = positions_of_departures(answers_);
    return true;
  }

  Answers answers_;
  std::vector<std::size_t> departures_;
  int left_;
  const AnswerTrial& trial_;
};

}  // namespace

std::size_t departures_in(const Answers& answers) {
  return answers.size() - static_cast<std::size_t>(std::ranges::count(answers, 0U));
}

Answers shrunk(Answers answers, int most_trials, const AnswerTrial& trial) {
  return Search(std::move(answers), most_trials, trial).run();
}

}  // namespace belfry::sim
