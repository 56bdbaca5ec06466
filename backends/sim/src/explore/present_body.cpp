// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/present_body.h"

#include "belfry/backend/current_slot.h"
#include "belfry/sim/explore.h"
#include "explore/program_run.h"

#include <string>

namespace belfry::sim {
namespace {

constexpr std::string_view kSecondBackend =
    "the body uses a second backend, whose schedule nobody observes";

}  // namespace

constinit thread_local PresentBody* PresentBody::present = nullptr;
constinit thread_local PresentBody::HandedOut PresentBody::handed_out;
constinit std::atomic<std::uint64_t> ended_backends = 0;

PresentBody::PresentBody(const Backend* backend) : backend_(backend), outer_(present) {
  uses_unobserved(kSecondBackend);
  present = this;
  ++belfry::detail::bodies_of_explorations;
}

PresentBody::~PresentBody() {
  --belfry::detail::bodies_of_explorations;
  present = outer_;
}

void PresentBody::draws(std::string_view library) {
  if (present == nullptr || !present->draw_.empty()) return;
  const int replica = belfry::detail::current_replica_id();
  const std::string drawer = replica < 0 ? "the caller" : "replica " + std::to_string(replica);
  present->draw_ = drawer + " draws from " + std::string(library);
}

void PresentBody::uses_unobserved(std::string_view what) {
  if (present != nullptr && present->other_backends_.empty()) present->other_backends_ = what;
}

void PresentBody::runs_cluster() {
  if (program() == nullptr) {
    uses_unobserved(
        "the body runs a cluster, whose hosts have backends and a schedule of their own: an "
        "exploration decides the schedule of one backend");
  } else if (belfry::detail::current_replica_id() >= 0) {
    uses_unobserved("a replica runs a cluster");
  }
}

// The backends of a program are observed, one after the other (SEM-198).
void PresentBody::uses_other(const void* maker) {
  if (program_ != nullptr && program_->program().get() == maker) return;
  uses_unobserved(kSecondBackend);
}

void detail::note_draw(std::string_view library) { PresentBody::draws(library); }

}  // namespace belfry::sim
