// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "demo_page.h"

#include "belfry/sim/backend.h"
#include "belfry/strategies.h"
#include "belfry/trace.h"
#include "digits.h"
#include "page/page.h"
#include "shuffle.h"
#include "trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <span>

namespace belfry::tool {
namespace {

void train_a_step(const demo::DemoOptions& options, TraceFile& trace) {
  const demo::Digits digits = demo::read_digits(options.file);
  const demo::Split split = demo::split(digits.count(), options.seed);
  const auto batch = std::min(split.training.size(), static_cast<std::size_t>(options.batch));
  sim::Backend backend({.devices = options.replicas, .seed = options.seed},
                       sim::Attachments{.trace = &trace});
  MirroredStrategy strategy(backend);
  demo::Trainer trainer(strategy, digits,
                        {.seed = options.seed,
                         .rate = static_cast<float>(options.rate),
                         .dropped_replica = options.dropped_replica});
  trainer.step(std::span(split.training).first(batch));
}

}  // namespace

void write_demo_page(const demo::DemoOptions& options, const std::string& page, Console& console) {
  const auto trace = std::filesystem::path(page).replace_extension(".jsonl").string();
  TraceFile file(trace, {.program = "a step of the demo"});
  train_a_step(options, file);
  file.close();
  const PageSize lines = write_page({.traces = {trace}, .page = page});
  console.result(fmt::format("page       {}: {} steps of {}", page, lines.steps, trace));
}

}  // namespace belfry::tool
