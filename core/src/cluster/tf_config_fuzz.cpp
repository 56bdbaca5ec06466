// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/cluster_environment.h"
#include "belfry/error.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

template <class Read>
void read_or_refuse(Read read) {
  try {
    read();
  } catch (const belfry::Error& error) {
    if (error.code() != belfry::ErrorCode::kInvalidArgument) std::abort();
  }
}

}  // namespace

// Any text is refused with an error, or read as a process or as hosts with names.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read_or_refuse([&] {
    const belfry::ProcessNumbers me =
        belfry::resolve(belfry::Environment{{"TF_CONFIG", text}}).numbers;
    if (me.rank < 0 || me.rank >= me.size || me.local_rank > me.rank) std::abort();
  });
  read_or_refuse([&] {
    for (const std::string& host : belfry::slurm_hosts(text)) {
      if (host.empty()) std::abort();
    }
  });
  read_or_refuse([&] { belfry::slurm_tasks_per_node(text); });
  return 0;
}
