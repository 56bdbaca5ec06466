// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/present_body.h"

namespace belfry::sim {

constinit thread_local PresentBody* PresentBody::present = nullptr;

PresentBody::PresentBody(const Backend& backend) : backend_(backend), outer_(present) {
  present = this;
}

PresentBody::~PresentBody() { present = outer_; }

}  // namespace belfry::sim
