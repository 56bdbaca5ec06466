// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "machine.h"

#include <algorithm>
#include <utility>

namespace belfry::driver {
namespace {

// CUDA's functions have no parameter for their state: the state belongs to the process.
struct Installed {
  std::mutex mutex;
  std::shared_ptr<Machine> machine;  // with calls in progress
};

Installed& installed() {
  static Installed installed;
  return installed;
}

engine::EngineOptions engine_options(const sim::DriverOptions& options, Chooser& chooser) {
  engine::EngineOptions result;
  result.chooser = options.chooser != nullptr ? options.chooser : &chooser;
  result.sink = options.sink;
  return result;
}

}  // namespace

Machine::Machine(const sim::DriverOptions& options)
    : options_(options),
      chooser_(options.seed),
      addresses_(std::make_shared<engine::AddressMap>()),
      engine_(engine_options(options_, chooser_)) {
  engine_.set_host_threads(options_.host_threads);
  for (int gpu = 0; gpu < options_.gpus; ++gpu) {
    engine::MemoryOptions memory;
    memory.device = gpu;
    memory.limit_bytes = options_.memory_bytes;
    memory.addresses = addresses_;
    memories_.push_back(engine::DeviceMemory::create(std::move(memory)));
  }
  engine::MemoryOptions of_host;
  of_host.device = -1;
  of_host.addresses = addresses_;
  pinned_ = engine::DeviceMemory::create(std::move(of_host));
}

void Machine::reseed(std::uint64_t seed) {
  chooser_ = RandomChooser(seed);
  cliques.reseed(seed);
}

std::shared_ptr<StreamObject> Machine::stream_for_work(cudaStream_t handle, int gpu) {
  auto stream = find_stream(handle, gpu);
  if (stream != nullptr) default_streams.order(*stream);
  return stream;
}

std::optional<engine::Access> Machine::find(const void* address, std::size_t bytes) const {
  std::optional<engine::Access> access = find_mapped(address, bytes);
  if (access && access->allocation->device() < 0) return std::nullopt;
  return access;
}

std::optional<engine::Access> Machine::find_mapped(const void* address, std::size_t bytes) const {
  std::optional<engine::Access> access = addresses_->find(address, bytes);
  if (!access || access->range.end > access->allocation->bytes()) return std::nullopt;
  const void* const first = access->allocation->data();
  const bool lives = access->allocation->device() < 0 ? host_memory.find(first) != nullptr
                                                      : memory_handles.find(first) != nullptr;
  if (!lives) return std::nullopt;
  return access;
}

std::shared_ptr<HostMemoryObject> Machine::find_pinned(const void* address) const {
  std::shared_ptr<HostMemoryObject> memory = host_memory.find_before(address);
  if (memory == nullptr) return nullptr;
  const auto offset = reinterpret_cast<std::uintptr_t>(address) -
                      reinterpret_cast<std::uintptr_t>(memory->allocation->data());
  return offset < memory->allocation->bytes() ? memory : nullptr;
}

bool Machine::reachable(const engine::Access& access, int gpu) const {
  if (access.allocation->device() < 0) return true;
  const auto memory = memory_handles.find(access.allocation->data());
  if (memory == nullptr) return false;
  if (access.allocation->device() == gpu) return true;
  if (memory->pool == nullptr) return false;
  const std::vector<int>& from = memory->pool->reachable_from;
  return std::ranges::find(from, gpu) != from.end();
}

std::vector<std::string> Machine::alive() const {
  std::vector<std::string> lines;
  const auto add = [&lines](std::size_t count, const char* what) {
    if (count > 0) lines.push_back(std::to_string(count) + " " + what);
  };
  add(streams.size(), "streams");
  add(events.size(), "events");
  add(pools.size(), "memory pools");
  add(memory_handles.size(), "allocations");
  add(host_memory.size(), "pinned allocations");
  add(cliques.alive(), "communicators");
  return lines;
}

std::shared_ptr<Machine> machine() {
  Installed& place = installed();
  const std::lock_guard lock(place.mutex);
  if (place.machine == nullptr) place.machine = std::make_shared<Machine>(sim::DriverOptions{});
  return place.machine;
}

void replace_machine(std::shared_ptr<Machine> machine) {
  Installed& place = installed();
  const std::lock_guard lock(place.mutex);
  place.machine = std::move(machine);
}

}  // namespace belfry::driver
