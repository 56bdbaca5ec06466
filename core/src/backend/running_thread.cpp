// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/running_thread.h"

#include "belfry/error.h"

namespace belfry::detail {

void RunningThread::refuse() {
  throw ContextError(
      ErrorCode::kStrategyBusy,
      "another thread runs on this backend, whose carrier is for one thread at a time",
      "let the threads take turns, give each a backend of its own, or use the concurrent carrier");
}

}  // namespace belfry::detail
