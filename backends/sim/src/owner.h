// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/log.h"

namespace belfry::sim {

/// The agent whose call a record carries out: an operation of the host for a replica belongs to the
/// replica. `known`: the annotation of the record, or null.
inline AgentId owner_of(const LogRecord& record, const Annotation* known) {
  const bool is_replicas =
      record.agent_kind == AgentId::Kind::kHost && known != nullptr && known->replica >= 0;
  return is_replicas ? AgentId{AgentId::Kind::kReplica, known->replica} : record.agent();
}

}  // namespace belfry::sim
