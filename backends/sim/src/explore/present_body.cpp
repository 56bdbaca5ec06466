// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/present_body.h"

#include "belfry/backend/current_slot.h"
#include "belfry/sim/explore.h"

#include <string>

namespace belfry::sim {

constinit thread_local PresentBody* PresentBody::present = nullptr;

PresentBody::PresentBody(const Backend& backend) : backend_(backend), outer_(present) {
  present = this;
  if (outer_ != nullptr) outer_->used_others_ = true;
}

PresentBody::~PresentBody() { present = outer_; }

void PresentBody::draws(std::string_view library) {
  if (present == nullptr || !present->draw_.empty()) return;
  const int replica = belfry::detail::current_replica_id();
  const std::string drawer = replica < 0 ? "the caller" : "replica " + std::to_string(replica);
  present->draw_ = drawer + " draws from " + std::string(library);
}

void detail::note_draw(std::string_view library) { PresentBody::draws(library); }

}  // namespace belfry::sim
