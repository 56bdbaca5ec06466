// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/options_text.h"
#include "belfry/error.h"
#include "belfry/sim/driver.h"
#include "machine.h"

#include <atomic>

namespace belfry::sim {

std::string to_string(const DriverOptions& options) {
  const DriverOptions usual;
  detail::OptionsText text;
  text.add("installed", options.installed, usual.installed);
  text.add("gpus", options.gpus, usual.gpus);
  text.add("memory_bytes", options.memory_bytes, usual.memory_bytes);
  text.add("peer_access", options.peer_access, usual.peer_access);
  text.add("seed", options.seed, usual.seed);
  if (options.chooser != nullptr) text.put("chooser", detail::quoted("a Chooser"));
  if (options.sink != nullptr) text.put("sink", detail::quoted("an OperationSink"));
  text.add("host_threads", options.host_threads, usual.host_threads);
  text.add("polls", options.polls, usual.polls);
  text.add("pageable_read_late", options.pageable_read_late, usual.pageable_read_late);
  if (options.observer != nullptr) text.put("observer", detail::quoted("a CallObserver"));
  return text.text();
}

struct SimulatedDriver::Parts {
  std::shared_ptr<driver::Machine> machine;  // with the calls that use it
};

SimulatedDriver::SimulatedDriver(DriverOptions options)
    : parts_(std::make_unique<Parts>(Parts{std::make_shared<driver::Machine>(options)})) {
  if (options.gpus < 0 || options.host_threads < 0) {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument,
        "the numbers of GPUs and of host threads of a simulated driver are 0 or more");
  }
  driver::replace_machine(parts_->machine);
}

SimulatedDriver::~SimulatedDriver() { driver::replace_machine(nullptr); }

void SimulatedDriver::reseed(std::uint64_t seed) { parts_->machine->reseed(seed); }

void SimulatedDriver::fail(const std::string& function, std::uint64_t which, int code) {
  parts_->machine->book().plan_failure(function, which, code);
}

std::uint64_t SimulatedDriver::calls(const std::string& function) const {
  return parts_->machine->book().calls(function);
}

std::vector<std::string> SimulatedDriver::reports() const {
  return parts_->machine->book().reports();
}

std::vector<std::string> SimulatedDriver::alive() const { return parts_->machine->alive(); }

}  // namespace belfry::sim
