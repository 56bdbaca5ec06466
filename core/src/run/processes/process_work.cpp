// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/process_work.h"

#include "belfry/detail/process_exchange.h"
#include "belfry/error.h"

#include <algorithm>
#include <exception>
#include <vector>

namespace belfry::detail {
namespace {

[[noreturn]] void throw_objects_differ(const ProcessWork& task, const std::vector<Bytes>& objects) {
  std::string found;
  for (std::size_t process = 0; process < objects.size(); ++process) {
    found += (process == 0 ? "" : ", ") + ByteReader(objects[process]).text() + " in process " +
             std::to_string(process);
  }
  throw InvalidArgumentError(
      ErrorCode::kInvalidArgument,
      "processes differ in what they " + std::string(task.what) + ": " + found,
      "give all processes the same path", task.site);
}

}  // namespace

Bytes done_by_first_process(StrategyCore& core, const ProcessWork& task,
                            FunctionRef<Bytes()> work) {
  if (core.processes() == nullptr) return work();
  ProcessExchange& processes = *core.processes();
  ByteWriter object;
  object.text(task.object);
  const std::vector<Bytes> objects = processes.values(task.what, task.site, object.bytes());
  const auto differs = [&](const Bytes& other) { return other != objects.front(); };
  if (std::ranges::any_of(objects, differs)) throw_objects_differ(task, objects);
  Bytes result;
  if (processes.rank() == 0) {
    try {
      result = work();
    } catch (...) {
      processes.tell_failure(std::current_exception(), -1, task.site);
      throw;
    }
  }
  return processes.values(task.what, task.site, result).front();
}

}  // namespace belfry::detail
