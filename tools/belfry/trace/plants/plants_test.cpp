// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Mistakes in training programs: tools and checks name line and replicas, and blame no twin.
#include "belfry/error.h"
#include "belfry/sim/backend.h"
#include "belfry/sim/explore.h"
#include "belfry/testing/compare_functions.h"
#include "belfry/testing/same_as_one_replica.h"
#include "plant.h"
#include "trace/diff.h"
#include "trace/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::plants::plants_test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using tool::ExitCode;

// `value_plants.cpp:40`, the line with the comment.
std::string line_of(const std::string& comment) {
  for (const std::string file : {"value_plants.cpp", "order_plants.cpp", "changes.cpp"}) {
    std::ifstream source(std::string(BELFRY_PLANTS) + "/" + file);
    std::string line;
    for (int number = 1; std::getline(source, line); ++number) {
      if (line.ends_with("// " + comment)) return file + ":" + std::to_string(number);
    }
  }
  throw std::runtime_error("no line with the comment '" + comment + "'");
}

// Runs the program on simulated devices, with a trace, and returns the file.
std::string trace_of(const std::string& name, int replicas,
                     const std::function<void(Strategy&)>& program, std::uint64_t seed = 3) {
  TraceFile trace{::testing::TempDir() + "plant_" + name + "_" + std::to_string(replicas) +
                  ".jsonl"};
  sim::Backend backend{{.devices = replicas, .seed = seed}, sim::Attachments{.trace = &trace}};
  MirroredStrategy strategy{backend};
  try {
    program(strategy);
  } catch (const Error&) {  // The trace has the failure.
  }
  return trace.path();
}

struct Said {
  ExitCode code;
  std::string text;
};

template <class Command>
Said said_by(const Command& command) {
  std::ostringstream out;
  tool::Console console(out, out, {});
  const ExitCode code = command(console);
  return {code, out.str()};
}

// The part below a heading, up to the next; empty without the heading.
std::string below(const std::string& text, const std::string& heading) {
  const std::size_t begin = text.find(heading + "\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find("\n\n", begin) - begin);
}

// The words of the finder about the program; empty without blame.
std::string blame(const Plant& plant, bool planted) {
  const auto run = [&](Strategy& strategy) { plant.program(strategy, planted); };
  const auto on_backend = [&](sim::Backend& backend) {
    MirroredStrategy strategy{backend};
    run(strategy);
  };
  const std::string name = plant.name + (planted ? "" : "_twin");
  switch (plant.finder) {
    case Finder::kError:
      try {
        sim::Backend backend{{.devices = 2, .seed = 3}};
        on_backend(backend);
        return "";
      } catch (const Error& error) {
        return error.what();
      }
    case Finder::kExplain: {
      const std::string file = trace_of(name, 2, run);
      const Said said =
          said_by([&](auto& console) { return tool::explain({.files = {file}}, console); });
      return below(said.text, "Remarks");
    }
    case Finder::kDiff: {
      const std::string a = trace_of(name, 1, run);
      const std::string b = trace_of(name, 2, run);
      const Said said =
          said_by([&](auto& console) { return tool::diff({.a = a, .b = b}, console); });
      return said.code == ExitCode::kGood ? "" : said.text.substr(0, said.text.find("\n\n"));
    }
    case Finder::kOneReplica:
      return belfry::testing::compare_with_one_replica({}, run).difference;
    case Finder::kFunctions:
      try {
        belfry::testing::compare_functions({.devices = 2}, on_backend);
        return "";
      } catch (const Error& error) {
        return error.what();
      }
    case Finder::kExplore: {
      const sim::Verdict verdict = sim::explore({.devices = 2}, on_backend);
      return verdict.level() == sim::VerdictLevel::kCertified ? "" : explain(verdict);
    }
  }
  return "";
}

std::vector<Plant> all_plants() {
  std::vector<Plant> plants = value_plants();
  for (const Plant& plant : order_plants()) plants.push_back(plant);
  return plants;
}

class EachPlant : public ::testing::TestWithParam<Plant> {};

TEST_P(EachPlant, IsNamedWithItsLineAndReplicas) {
  const Plant& plant = GetParam();
  const std::string said = blame(plant, true);
  EXPECT_THAT(said, HasSubstr(line_of("plant: " + plant.name)));
  for (const std::string& replicas : plant.replicas) EXPECT_THAT(said, HasSubstr(replicas));
}

TEST_P(EachPlant, HasATwinWithoutBlame) { EXPECT_EQ(blame(GetParam(), false), ""); }

INSTANTIATE_TEST_SUITE_P(Plants, EachPlant, ::testing::ValuesIn(all_plants()),
                         [](const auto& info) { return info.param.name; });

// Compares the step with that of a change, in other schedules.
Said difference_of(int change) {
  const auto step = [change](Strategy& strategy) { step_with_change(strategy, change); };
  const auto usual = [](Strategy& strategy) { step_with_change(strategy, 0); };
  const std::string name = "change_" + std::to_string(change);
  const std::string a = trace_of(name + "_usual", 2, usual);
  const std::string b = trace_of(name, 2, step, 8);
  return said_by([&](auto& console) { return tool::diff({.a = a, .b = b}, console); });
}

class EachChange : public ::testing::TestWithParam<int> {};

TEST_P(EachChange, IsTheOperationThatDiffNamesFirst) {
  const Said said = difference_of(GetParam());
  EXPECT_EQ(said.code, ExitCode::kMismatch);
  const std::size_t begin = said.text.find("[WRONG]");
  EXPECT_THAT(said.text.substr(begin, said.text.find('\n', begin) - begin),
              ContainsRegex(line_of("change: " + std::to_string(GetParam())) + "[, ]"));
}

INSTANTIATE_TEST_SUITE_P(Changes, EachChange, ::testing::Range(1, kChanges + 1));

TEST(Changes, AreNotSeenBetweenSchedules) { EXPECT_EQ(difference_of(0).code, ExitCode::kGood); }

}  // namespace
}  // namespace belfry::plants::plants_test
