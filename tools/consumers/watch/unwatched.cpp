// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "watch/host_watch.h"

namespace watch = belfry::sim::watch;

int main() {
  watch::start();
  watch::enter({{belfry::AgentId::Kind::kReplica, 0}, 1, 0});
  watch::leave();
  return !watch::linked() && watch::stop().accesses == 0 ? 0 : 1;
}
