// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/backend.h"
#include "memory/memory_case.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace belfry::testing {

/// Stages with two simulated devices.
template <class S>
MemorySetting simulated(sim::Options options) {
  options.devices = 2;
  options.seed = 3;
  return {
      .backend = [options] { return std::make_unique<sim::Backend>(options); },
      .strategy = [](Backend& backend) { return std::make_unique<S>(backend); },
      .live_buffers =
          [](Backend& backend) { return dynamic_cast<sim::Backend&>(backend).leaks().size(); },
      .left_over = nullptr,
  };
}

/// A case's name, as names of tests may be.
inline std::string name_of_case(const ::testing::TestParamInfo<MemoryCase>& info) {
  std::string name = info.param.name;
  for (char& letter : name) {
    if (letter == ' ') letter = '_';
  }
  return name;
}

}  // namespace belfry::testing
