// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/program_run.h"

#include "belfry/backend/current_slot.h"
#include "explore/present_body.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace belfry::sim {
namespace {

bool same(const MadeBackend& a, const MadeBackend& b) {
  return a.options == b.options && same_place(a.site, b.site) && a.refusal == b.refusal;
}

}  // namespace

// Replicas of the observed backend are its actors; replicas of a second backend act as the caller
// or the merge in which their run began.
void Bystander::observe(const Observation& seen) {
  const AgentId::Kind kind = seen.actor.agent.kind;
  if (kind != AgentId::Kind::kHost && kind != AgentId::Kind::kMerge) return;
  if (belfry::detail::current_replica_id() < 0) return;
  PresentBody::uses_unobserved("a replica uses a second backend");
}

ProgramRun::ProgramRun(std::shared_ptr<ExploredProgram> program, int number,
                       const Backend* explored)
    : program_(std::move(program)), number_(number), explored_(explored) {
  PresentBody::set_program(this);
}

ProgramRun::~ProgramRun() {
  if (!std::ranges::equal(made_, program_->backends, same)) {
    PresentBody::uses_unobserved(
        "the program makes further backends than in its first run, or fewer");
  }
  PresentBody::set_program(nullptr);
}

const Backend* ProgramRun::make(const MadeBackend& backend) {
  made_.push_back(backend);
  if (explored_ == nullptr || made_.size() != static_cast<std::size_t>(number_)) return nullptr;
  return same(backend, program_->backends[made_.size() - 1]) ? explored_ : nullptr;
}

Attachments ProgramRun::observed(const Attachments& attached) const {
  Attachments all = attached;
  // Hosts of a cluster are in the order of the cluster, and look like replicas.
  if (all.observer == nullptr && all.schedules == nullptr) all.observer = &program_->bystander;
  return all;
}

}  // namespace belfry::sim
