// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cuda/backend.h"

#include "belfry/backend/current_slot.h"
#include "belfry/detail/flight_ring.h"
#include "belfry/detail/trace_sink.h"
#include "belfry/error.h"
#include "check.h"
#include "communicator.h"
#include "deadlines.h"
#include "device.h"
#include "nccl_clique.h"
#include "nvtx.h"
#include "nvtx_sink.h"
#include "peers.h"
#include "process_links.h"
#include "program_objects.h"
#include "work_trace.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::cuda {
namespace {

// Chooses the lowest number: the order of a carrier without a Chooser.
class FirstChooser final : public Chooser {
 public:
  std::uint32_t choose(ChoiceKind /*kind*/, std::uint32_t /*count*/) override { return 0; }
};

int count_gpus() {
  int driver = 0;
  const cudaError_t asked = cudaDriverGetVersion(&driver);
  int gpus = 0;
  const cudaError_t counted = cudaGetDeviceCount(&gpus);
  if (counted == cudaSuccess && gpus > 0) return gpus;
  ignore_failure(asked);
  ignore_failure(counted);
  std::string summary = "no GPU for CUDA: ";
  if (driver == 0) {
    summary += "this machine has no NVIDIA driver";
  } else if (counted == cudaSuccess) {
    summary += "the driver sees none";
  } else {
    summary += std::string("the driver says ") + cudaGetErrorName(counted) + ", " +
               cudaGetErrorString(counted);
  }
  throw DeviceError(ErrorCode::kNoDriver, summary,
                    "run on a machine with an NVIDIA GPU and its driver, or on the simulator");
}

[[noreturn]] void throw_option(ErrorCode code, std::string summary) {
  throw InvalidArgumentError(code, std::move(summary), "see belfry/cuda/options.h");
}

void require_times(const Options& options) {
  for (const auto time : {options.merge_deadline, options.run_deadline, options.work_deadline}) {
    if (time.count() < 0) throw_option(ErrorCode::kInvalidArgument, "a deadline below 0");
  }
  if (options.write_signal != 0 && options.recorder == nullptr) {
    throw_option(ErrorCode::kInvalidArgument, "a write_signal without a recorder");
  }
}

std::vector<int> place_devices(const Options& options, int gpus) {
  if (options.fitted < 0) throw_option(ErrorCode::kInvalidArgument, "fewer than no replicas");
  if (options.fitted > 0) {
    // Neighbours share a GPU: groups of ranks stay together.
    std::vector<int> placed;
    placed.reserve(static_cast<std::size_t>(options.fitted));
    const std::int64_t used = std::min(options.fitted, gpus);
    for (std::int64_t i = 0; i < options.fitted; ++i) {
      placed.push_back(static_cast<int>(i * used / options.fitted));
    }
    return placed;
  }
  if (options.devices.empty()) {
    if (options.replicas_per_gpu < 0) {
      throw_option(ErrorCode::kInvalidArgument, "replicas_per_gpu is below 0");
    }
    std::vector<int> placed;
    for (int gpu = 0; gpu < gpus; ++gpu) {
      placed.insert(placed.end(), static_cast<std::size_t>(options.replicas_per_gpu), gpu);
    }
    return placed;
  }
  for (const int gpu : options.devices) {
    if (gpu < 0 || gpu >= gpus) {
      throw_option(
          ErrorCode::kUnknownDevice,
          "GPU " + std::to_string(gpu) + " is asked for; this machine has " + std::to_string(gpus));
    }
  }
  return options.devices;
}

void require_memory_pools(const std::vector<int>& gpus) {
  for (const int gpu : gpus) {
    int supported = 0;
    BELFRY_CUDA_TRY(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, gpu));
    if (supported != 0) continue;
    throw UnsupportedError(ErrorCode::kUnsupported,
                           "GPU " + std::to_string(gpu) + " has no stream-ordered memory",
                           "belfry needs memory pools: a newer driver, or another GPU");
  }
}

// Whether kernels on each of two GPUs may use memory of the other.
bool are_peers(int one, int other) {
  return one == other || (can_access(one, other) && can_access(other, one));
}

// Each pair of GPUs is asked once: several devices may share a GPU.
Connections connections_of(const std::vector<int>& gpus, bool has_programs_memory) {
  Connections connections;
  connections.host = static_cast<int>(gpus.size());
  std::map<std::pair<int, int>, bool> known;
  for (const int one : gpus) {
    std::vector<int>& linked = connections.links.emplace_back();
    for (std::size_t device = 0; device < gpus.size(); ++device) {
      const std::pair<int, int> pair = std::minmax(one, gpus[device]);
      const auto [place, fresh] = known.try_emplace(pair, false);
      if (fresh) {
        // The program decides which GPUs may access memory of its own.
        const bool is_same = pair.first == pair.second;
        place->second = is_same || (!has_programs_memory && are_peers(pair.first, pair.second));
      }
      if (place->second) linked.push_back(static_cast<int>(device));
    }
  }
  return connections;
}

std::int64_t now_ns() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

std::unique_ptr<Executor> make_executor(const Options& options, Chooser& chooser,
                                        OperationSink* sink, WaitLimit* limit) {
  ExecutorParts parts;
  parts.limit = limit;
  parts.chooser = options.chooser != nullptr ? options.chooser : &chooser;
  parts.sink = sink;
  switch (options.carrier) {
    case Carrier::kFiber:
      return make_fiber_executor(parts);
    case Carrier::kBaton:
      return make_baton_executor(parts);
    case Carrier::kConcurrent:
      return make_concurrent_executor(parts);
  }
  // A number that was read from a file may stand for no enumerator.
  throw_option(ErrorCode::kInvalidArgument, "Options::carrier is " +
                                                std::to_string(static_cast<int>(options.carrier)) +
                                                ", the number of no enumerator");
}

}  // namespace

struct Backend::Parts {
  std::shared_ptr<SharedState> shared;  // with devices, streams and buffers
  std::vector<int> gpus;                // of each device
  Connections connections;
  FirstChooser chooser;
  std::optional<NvtxSink> nvtx;
  std::optional<detail::TraceSink> trace;
  std::optional<Deadlines> deadlines;
  std::unique_ptr<Executor> executor;
  std::optional<WorkTrace> work_trace;
  std::mutex mutex;                                    // for devices, which are made on first use
  std::vector<std::unique_ptr<cuda::Device>> devices;  // the host comes last
  std::optional<OnSignal> on_signal;
};

Backend::Backend(Options options) : parts_(std::make_unique<Parts>()) {
  require_times(options);
  parts_->gpus = place_devices(options, count_gpus());
  require_memory_pools(parts_->gpus);
  require_fitting(options, parts_->gpus);
  parts_->connections = connections_of(parts_->gpus, has_programs_memory(options));
  parts_->shared = std::make_shared<SharedState>();
  parts_->shared->options = std::move(options);
  const Options& own = parts_->shared->options;
  OperationSink* sink = own.sink;
  if (own.nvtx) {
    if (!nvtx::is_compiled()) {
      throw UnsupportedError(ErrorCode::kUnsupported, "this belfry was compiled without NVTX",
                             "build it where CUDA's toolkit is installed");
    }
    sink = parts_->shared->nvtx = &parts_->nvtx.emplace(sink);
  }
  if (own.trace != nullptr) {
    const detail::TraceHeader header{
        .backend = "cuda", .devices = device_count(), .options = to_string(own)};
    parts_->trace.emplace(*own.trace, header, sink, CallSite{});
    sink = &*parts_->trace;
  }
  if (own.recorder != nullptr) own.recorder->ring().share(&now_ns, own.deadline.count());
  if (own.merge_deadline.count() > 0 || own.run_deadline.count() > 0) {
    parts_->deadlines.emplace(own);
  }
  WaitLimit* const limit = parts_->deadlines ? &*parts_->deadlines : nullptr;
  parts_->executor = make_executor(own, parts_->chooser, sink, limit);
  if (own.trace != nullptr) {
    parts_->shared->work_trace =
        &parts_->work_trace.emplace(own.trace->writer(), *parts_->executor);
  }
  if (own.write_signal != 0) {
    parts_->on_signal.emplace(own.write_signal, [recorder = own.recorder] {
      recorder->ring().write_if_possible("signal");
    });
  }
  parts_->devices.resize(parts_->gpus.size() + 1);
}

Backend::~Backend() = default;

int Backend::device_count() const { return static_cast<int>(parts_->gpus.size()); }

DeviceSpec Backend::device_spec(int index) const {
  static_cast<void>(gpu(index));
  return name_of_device(index, index == device_count() ? Memory::kHost : Memory::kGpu);
}

belfry::Device& Backend::device(int index) {
  // The simulated driver runs the body of a kernel with its engine locked, which making a device
  // locks after the list of devices.
  detail::require_no_kernel();
  const int on = gpu(index);
  const std::lock_guard lock(parts_->mutex);
  std::unique_ptr<cuda::Device>& device = parts_->devices[static_cast<std::size_t>(index)];
  if (device == nullptr) {
    const Memory memory = index == device_count() ? Memory::kHost : Memory::kGpu;
    device = std::make_unique<cuda::Device>(
        parts_->shared, Position{.index = index, .gpu = on, .memory = memory}, parts_->gpus);
  }
  return *device;
}

namespace {

// The devices of a communicator.
std::vector<cuda::Device*> members_of(Backend& backend, std::span<const int> devices) {
  if (devices.empty()) {
    throw InvalidArgumentError(ErrorCode::kNoDevices, "a communicator of no devices",
                               "name at least one device");
  }
  std::vector<cuda::Device*> members;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (std::find(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(i), devices[i]) !=
        devices.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw InvalidArgumentError(
          ErrorCode::kDuplicateDevice,
          "device " + std::to_string(devices[i]) + " is named twice in a communicator",
          "name each device once");
    }
    members.push_back(static_cast<cuda::Device*>(&backend.device(devices[i])));
  }
  return members;
}

}  // namespace

std::unique_ptr<Communicator> Backend::communicator(std::span<const int> devices) {
  return make_communicator(parts_->shared, members_of(*this, devices));
}

bool Backend::reduces(DType dtype) const { return NcclClique::reduces(dtype); }

std::vector<std::byte> Backend::offer(std::span<const int> devices, bool leads) {
  return offer_of(*parts_->shared, members_of(*this, devices), leads);
}

std::unique_ptr<Communicator> Backend::join(std::span<const int> devices, const ProcessJoin& all) {
  return join_processes(parts_->shared, members_of(*this, devices), all);
}

Executor& Backend::executor() { return *parts_->executor; }

const Connections& Backend::connections() const { return parts_->connections; }

RunSettings Backend::run_settings() const {
  const Options& options = parts_->shared->options;
  return {.verifies_mirrored = options.verify_mirrored,
          .kernel_failures = parts_->shared->kernel_failures.get(),
          .trace = options.trace,
          .variable_tap = parts_->trace ? &*parts_->trace : nullptr,
          .flights = options.recorder == nullptr ? nullptr : &options.recorder->ring()};
}

int Backend::gpu(int index) const {
  // Without devices, streams of the host are of the first GPU.
  if (index == device_count()) return parts_->gpus.empty() ? 0 : parts_->gpus.front();
  if (index < 0 || index > device_count()) {
    throw InvalidArgumentError(
        ErrorCode::kUnknownDevice,
        "device " + std::to_string(index) + " of a backend with " + std::to_string(device_count()),
        "devices are numbered from 0");
  }
  return parts_->gpus[static_cast<std::size_t>(index)];
}

Statistics Backend::statistics() const { return parts_->shared->counters.snapshot(); }

}  // namespace belfry::cuda
