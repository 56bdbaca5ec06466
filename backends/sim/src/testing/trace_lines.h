// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/backend.h"
#include "belfry/trace.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace belfry::sim::testing {

using Json = nlohmann::json;
using Lines = std::vector<Json>;

inline std::string path_of(const std::string& name) {
  return ::testing::TempDir() + "belfry_trace_" + std::to_string(getpid()) + "_" + name;
}

// All lines, whose last one must be whole, too.
inline Lines lines_of(const std::string& path) {
  std::ifstream in(path);
  Lines lines;
  for (std::string line; std::getline(in, line);) {
    EXPECT_FALSE(in.eof()) << "the last line has no end: " << line;
    lines.push_back(Json::parse(line));
  }
  return lines;
}

inline Lines of_kind(const Lines& lines, const std::string& kind) {
  Lines found;
  for (const Json& line : lines) {
    if (line.contains("step") && line["kind"] == kind) found.push_back(line);
  }
  return found;
}

// The elements of value `index` in `list` of a step, from the step or from a later line.
inline Json elements(const Lines& lines, const Json& step, const std::string& list, int index = 0) {
  const Json& value = step[list][static_cast<std::size_t>(index)];
  if (value.contains("first")) return value["first"];
  for (const Json& line : lines) {
    if (line.contains("value_of") && line["value_of"] == step["step"] && line["list"] == list &&
        line["index"] == index) {
      return line["first"];
    }
  }
  return nullptr;
}

// The trace of a program.
inline Lines trace_of(const std::string& name, const TraceOptions& options,
                      const Options& sim_options,
                      const std::function<void(belfry::Backend&)>& program) {
  const std::string path = path_of(name);
  {
    TraceFile trace{path, options};
    Backend backend{sim_options, Attachments{.trace = &trace}};
    program(backend);
    trace.close();
  }
  return lines_of(path);
}

}  // namespace belfry::sim::testing
