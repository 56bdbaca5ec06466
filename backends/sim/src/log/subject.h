// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"

namespace belfry::sim {

/// Whether tables and pictures show the subject of an operation of this kind. The start and the end
/// of a replica have none, and an exception has a name.
inline bool has_subject(OperationKind kind) {
  return kind != OperationKind::kStart && kind != OperationKind::kEnd &&
         kind != OperationKind::kThrow;
}

}  // namespace belfry::sim
