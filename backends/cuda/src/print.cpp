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
  if (options.recorder != nullptr) text.put("recorder", detail::quoted("a FlightRecorder"));
  text.add("memory_limit_bytes", options.memory_limit_bytes, usual.memory_limit_bytes);
  const auto put_time = [&](const char* name, std::chrono::milliseconds time,
                            std::chrono::milliseconds usual_time) {
    if (time == usual_time) return;
    text.put(name, "std::chrono::milliseconds{" + detail::code_of(time.count()) + "}");
  };
  put_time("deadline", options.deadline, usual.deadline);
  put_time("merge_deadline", options.merge_deadline, usual.merge_deadline);
  put_time("run_deadline", options.run_deadline, usual.run_deadline);
  put_time("work_deadline", options.work_deadline, usual.work_deadline);
  text.add("write_signal", options.write_signal, usual.write_signal);
  text.add("warm_up", options.warm_up, usual.warm_up);
  text.add("launches_block", options.launches_block, usual.launches_block);
  text.add("nvtx", options.nvtx, usual.nvtx);
  const std::string own = detail::quoted("the program's");
  if (!options.compute_streams.empty()) text.put("compute_streams", own);
  if (!options.communicators.empty()) text.put("communicators", own);
  if (!options.memory_pools.empty()) text.put("memory_pools", own);
  if (options.allocator.allocate) text.put("allocator", own);
  text.add("verify_mirrored", options.verify_mirrored, usual.verify_mirrored);
  return text.text();
}

std::string to_string(const VerbCounts& counts) {
  std::string text = std::to_string(counts.calls) + (counts.calls == 1 ? " call" : " calls");
  if (counts.bytes > 0) text += ", " + std::to_string(counts.bytes) + " bytes";
  if (counts.host_waits == 0) return text;
  return text + ", " + std::to_string(counts.host_waits) +
         (counts.host_waits == 1 ? " wait of the host" : " waits of the host");
}

std::string to_string(const Statistics& statistics) {
  const std::array<std::pair<std::string_view, std::uint64_t>, 7> counters{{
      {"kernel launches", statistics.kernel_launches},
      {"local collectives", statistics.local_collectives},
      {"nccl collectives", statistics.nccl_collectives},
      {"allocations", statistics.allocations},
      {"frees", statistics.frees},
      {"event records", statistics.event_records},
      {"event waits", statistics.event_waits},
  }};
  const std::array<std::pair<std::string_view, VerbCounts>, 9> verbs{{
      {"all_reduce", statistics.all_reduce},
      {"broadcast", statistics.broadcast},
      {"all_gather", statistics.all_gather},
      {"reduce_scatter", statistics.reduce_scatter},
      {"exchange", statistics.exchange},
      {"copy", statistics.copy},
      {"write", statistics.write},
      {"read", statistics.read},
      {"synchronize", statistics.synchronize},
  }};
  std::string text;
  const auto add = [&](std::string_view name, const std::string& count) {
    text += (text.empty() ? "" : "; ") + std::string(name) + " " + count;
  };
  for (const auto& [name, count] : counters) {
    if (count != 0) add(name, std::to_string(count));
  }
  for (const auto& [name, counts] : verbs) {
    if (counts != VerbCounts{}) add(name, to_string(counts));
  }
  return text.empty() ? "no calls" : text;
}

}  // namespace belfry::cuda
