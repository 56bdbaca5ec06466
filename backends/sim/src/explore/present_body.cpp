// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/present_body.h"

namespace belfry::sim {
namespace {

// Decides no result: a verdict alone depends on the number of backends.
constinit thread_local PresentBody* present = nullptr;

}  // namespace

PresentBody::PresentBody() : outer_(present) { present = this; }
PresentBody::~PresentBody() { present = outer_; }

void PresentBody::made_backend() {
  if (present != nullptr) ++present->backends_;
}

}  // namespace belfry::sim
