// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "engine/device_memory.h"
#include "engine/engine.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::engine::testing {

/// Gives scripted answers, then 0 for ever.
class ScriptedChooser final : public Chooser {
 public:
  std::uint32_t choose(ChoiceKind kind, std::uint32_t count) override {
    std::deque<std::uint32_t>& answers = kind == ChoiceKind::kWork ? work : agents;
    if (count == 1 || answers.empty()) return 0;
    const std::uint32_t answer = answers.front();
    answers.pop_front();
    return answer % count;
  }

  std::deque<std::uint32_t> agents;
  std::deque<std::uint32_t> work;
};

/// Keeps what is reported.
class OperationList final : public OperationSink {
 public:
  void on_operation(const Operation& operation) override {
    lines.push_back(to_string(operation.agent) + " " + to_string(operation.kind) + " " +
                    std::to_string(operation.subject));
  }

  std::vector<std::string> lines;
};

/// An engine with some queues and one device's memory; work appends its name to `done`.
struct EngineWorld {
  explicit EngineWorld(int queue_count = 2, EngineOptions options = {}) {
    options.chooser = &chooser;
    engine = std::make_unique<Engine>(options);
    for (int i = 0; i < queue_count; ++i) {
      queues.push_back(
          &engine->create_queue({.device = i, .number = i, .label = "queue " + std::to_string(i)}));
    }
  }

  CommandQueue& queue(int i) { return *queues[static_cast<std::size_t>(i)]; }

  Command work(std::string_view name, std::vector<Access> reads = {},
               std::vector<Access> writes = {}) {
    Command command;
    command.name = name;
    command.reads = std::move(reads);
    command.writes = std::move(writes);
    command.run = [this, name](const Command&) { done.emplace_back(name); };
    return command;
  }
  void enqueue(int i, std::string_view name, std::vector<Access> reads = {},
               std::vector<Access> writes = {}) {
    engine->enqueue(queue(i), work(name, std::move(reads), std::move(writes)));
  }

  ScriptedChooser chooser;
  std::shared_ptr<DeviceMemory> memory = DeviceMemory::create({.device = 0});
  std::unique_ptr<Engine> engine;
  std::vector<CommandQueue*> queues;
  std::vector<std::string> done;
};

}  // namespace belfry::engine::testing
