// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The texts of the backend's options and counters.
#include "belfry/cuda/options.h"
#include "belfry/cuda/statistics.h"
#include "belfry/detail/options_text.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace belfry::cuda {

std::string to_string(Carrier carrier) {
  constexpr std::array<std::string_view, 3> kWords{"concurrent", "fiber", "baton"};
  return detail::word_of(kWords, static_cast<int>(carrier));
}

std::string to_string(const Options& options) {
  constexpr std::array<std::string_view, 3> kCarriers{"kConcurrent", "kFiber", "kBaton"};
  const Options usual;
  detail::OptionsText text;
  text.add("devices", options.devices, usual.devices);
  text.add("replicas_per_gpu", options.replicas_per_gpu, usual.replicas_per_gpu);
  text.add("fitted", options.fitted, usual.fitted);
  text.add("carrier", options.carrier, usual.carrier, {"belfry::cuda::Carrier", kCarriers});
  if (options.chooser != nullptr) text.put("chooser", detail::quoted("a Chooser"));
  if (options.sink != nullptr) text.put("sink", detail::quoted("an OperationSink"));
  if (options.trace != nullptr) text.put("trace", detail::quoted("a TraceFile"));
  text.add("memory_limit_bytes", options.memory_limit_bytes, usual.memory_limit_bytes);
  if (options.deadline != usual.deadline) {
    const std::string count = detail::code_of(options.deadline.count());
    text.put("deadline", "std::chrono::milliseconds{" + count + "}");
  }
  text.add("warm_up", options.warm_up, usual.warm_up);
  text.add("launches_block", options.launches_block, usual.launches_block);
  text.add("verify_mirrored", options.verify_mirrored, usual.verify_mirrored);
  return text.text();
}

std::string to_string(const Statistics& statistics) {
  const std::array<std::pair<std::string_view, std::uint64_t>, 10> counters{{
      {"kernel launches", statistics.kernel_launches},
      {"local collectives", statistics.local_collectives},
      {"nccl collectives", statistics.nccl_collectives},
      {"copies", statistics.copies},
      {"host writes", statistics.host_writes},
      {"host reads", statistics.host_reads},
      {"allocations", statistics.allocations},
      {"frees", statistics.frees},
      {"event records", statistics.event_records},
      {"event waits", statistics.event_waits},
  }};
  std::string text;
  for (const auto& [name, count] : counters) {
    if (count == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(count);
  }
  return text.empty() ? "no calls" : text;
}

}  // namespace belfry::cuda
