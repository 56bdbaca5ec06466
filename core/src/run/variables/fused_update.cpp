// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/fused_update.h"

#include "belfry/error.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace belfry {
namespace {

template <class Lists, class Entries>
void append_all(const Lists& lists, Entries& out) {
  for (const auto& list : lists) {
    out.insert(out.end(), list.entries().begin(), list.entries().end());
  }
}

void require_decay(double decay, const char* name, CallSite site) {
  if (decay >= 0 && decay < 1) return;
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             fmt::format("Adam with a {} of {}", name, decay),
                             "a decay is at least 0 and below 1", site);
}

}  // namespace

FusedUpdate FusedUpdate::plain(double rate) {
  FusedUpdate update;
  update.parameters_.scalar = rate;
  return update;
}

FusedUpdate FusedUpdate::momentum(double rate, double decay) {
  FusedUpdate update = plain(rate);
  update.parameters_.update = UpdateRule::kMomentum;
  update.parameters_.decay = decay;
  return update;
}

FusedUpdate FusedUpdate::adam(std::int64_t step, const AdamOptions& options, CallSite site) {
  if (step < 1) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument, fmt::format("Adam in step {}", step),
                               "count steps from 1", site);
  }
  require_decay(options.decay, "decay", site);
  require_decay(options.second_decay, "second decay", site);
  const auto steps = static_cast<double>(step);
  FusedUpdate update = plain(options.rate * std::sqrt(1 - std::pow(options.second_decay, steps)) /
                             (1 - std::pow(options.decay, steps)));
  update.parameters_.update = UpdateRule::kAdam;
  update.parameters_.decay = options.decay;
  update.parameters_.second_decay = options.second_decay;
  update.parameters_.epsilon = options.epsilon;
  return update;
}

std::size_t FusedUpdate::slots() const {
  return own_ == nullptr ? slots_of(parameters_.update) : own_->slots();
}

std::string to_string(const FusedUpdate& update) {
  if (update.own() != nullptr) return "kernel " + std::string(update.own()->name());
  const KernelParameters& p = update.parameters();
  switch (p.update) {
    case UpdateRule::kPlain:
      return fmt::format("plain descent of rate {}", p.scalar);
    case UpdateRule::kMomentum:
      return fmt::format("momentum of rate {}, decay {}", p.scalar, p.decay);
    case UpdateRule::kAdam:
      break;
  }
  return fmt::format("Adam of rate {}, decays {} and {}, epsilon {}", p.scalar, p.decay,
                     p.second_decay, p.epsilon);
}

TensorVariables::TensorVariables(std::initializer_list<TensorVariables> lists) {
  append_all(lists, entries_);
}

TensorValues::TensorValues(std::initializer_list<TensorValues> lists) {
  append_all(lists, entries_);
}

TensorValues TensorValues::none() {
  TensorValues values;
  values.entries_.emplace_back();
  return values;
}

}  // namespace belfry
