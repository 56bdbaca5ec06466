// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The names of the candidates of a choice.
#include "backend/turns.h"

#include <new>

namespace belfry::detail {

// The class is not in the header: a compiler that sees this class alone guesses, at each choice,
// that the Chooser is of this class, and compares.
class Turns::Naming final : public Chooser {
 public:
  explicit Naming(Turns& turns) : turns_(turns) {}
  std::uint32_t choose(ChoiceKind, std::uint32_t count) override {
    return turns_.choose_among(count);
  }

 private:
  Turns& turns_;
};

Turns::Turns(Chooser* chooser, OtherAgents* agents) : asked_(chooser), agents_(agents) {
  if (chooser == nullptr || !chooser->wants_candidates()) return;
  wants_candidates_ = chooser;
  naming_ = std::make_unique<Naming>(*this);
  asked_ = naming_.get();
}
Turns::~Turns() = default;

std::uint32_t Turns::choose_among(std::uint32_t count) {
  try {
    name_candidates(count);
  } catch (const std::bad_alloc&) {
    // The asking replica is between two states, and needs an answer.
    return wants_candidates_->choose(ChoiceKind::kAgent, count);
  }
  return wants_candidates_->choose_among(candidates_);
}

void Turns::name_candidates(std::uint32_t count) {
  const auto name = [&](int replica) { candidates_.push_back({AgentId::Kind::kReplica, replica}); };
  candidates_.clear();
  candidates_.reserve(count);
  const std::uint32_t agents = runnable();
  if (caller_asks_) {
    const bool in_run = !everybody_.empty();
    candidates_.push_back({in_run ? AgentId::Kind::kMerge : AgentId::Kind::kHost, 0});
  } else {
    // The caller can go on, and replicas whose turns are decided may have to wait longer.
    if (count > ready_ + agents) {
      name(queue_[ready_]);
      for (std::uint32_t i = 0; i < drawn_.size(); ++i) name(drawn_.at(i));
    }
    for (std::uint32_t i = ready_; i > 0; --i) name(queue_[i - 1]);
  }
  for (std::uint32_t i = 0; i < agents; ++i) candidates_.push_back(agents_->agent(i));
}

}  // namespace belfry::detail
