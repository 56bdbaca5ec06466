// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "demo.h"

#include "belfry/error.h"
#include "belfry/sim/driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

namespace belfry::demo::demo_test {
namespace {

struct Said {
  ExitCode code;
  std::string out;
  std::string notes;

  bool has(const std::string& text) const { return out.find(text) != std::string::npos; }
};

DemoOptions quick() {
  DemoOptions options;
  options.epochs = 2;
  options.file = BELFRY_DEMO_DATA;
  return options;
}

Said say(const DemoOptions& options, tool::ConsoleOptions how = {}) {
  std::ostringstream out;
  std::ostringstream notes;
  Console console(out, notes, how);
  const ExitCode code = run_demo(options, console);
  return {code, out.str(), notes.str()};
}

TEST(Demo, TellsWhatItDoesAndWhatItFound) {
  const Said said = say(quick());
  EXPECT_EQ(said.code, ExitCode::kGood);
  EXPECT_TRUE(said.has("1797 images, 1438 to train on and 359 held out (seed 1)")) << said.out;
  EXPECT_TRUE(said.has("batches of 64 as 16+16+16+16, the last of 30 as 8+8+7+7")) << said.out;
  EXPECT_TRUE(said.has("\n    1   ")) << said.out;
  EXPECT_TRUE(said.has("\n    2   ")) << said.out;
  EXPECT_TRUE(said.has("[ok]    46 steps match one device")) << said.out;
  EXPECT_TRUE(said.has("[ok]    20 steps of a linear model in whole numbers match")) << said.out;
  // By hand: 2 merges for each step and 1 for each epoch; a step reduces 4 gradients and a loss, an
  // epoch a count. Each of 4 replicas gives 64 * 64 + 64 + 64 * 10 + 10 = 4810 floats and a float
  // for the loss in each of 46 steps, and an int in each of 2 epochs: 4 * (46 * 4811 * 4 + 2 * 4)
  // bytes.
  EXPECT_TRUE(
      said.has("reduced   training took 94 merges and 94 reductions of 230 tensors and 2 host "
               "values: 3540928 bytes of inputs\n"))
      << said.out;
  EXPECT_TRUE(said.has("2 replicas: 10 11")) << said.out;
  EXPECT_TRUE(said.has("BF-010")) << said.out;
  EXPECT_EQ(said.notes, "");
  EXPECT_EQ(said.out.find('\x1b'), std::string::npos);
}

TEST(Demo, SaysTheSameTwice) { EXPECT_EQ(say(quick()).out, say(quick()).out); }

// The lines about accuracy and weights.
std::string results_of(const Said& said) {
  std::istringstream lines(said.out);
  std::string results;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("accuracy") || line.starts_with("weights")) results += line + "\n";
  }
  return results;
}

TEST(Demo, OnSeveralHostsTrainsTheSameWeights) {
  const std::string alone = results_of(say(quick()));
  EXPECT_NE(alone.find("digest"), std::string::npos);
  for (const int hosts : {2, 3, 4}) {
    DemoOptions options = quick();
    options.hosts = hosts;
    const Said said = say(options);
    EXPECT_EQ(said.code, ExitCode::kGood);
    EXPECT_TRUE(said.has("MultiWorkerMirroredStrategy, 4 replicas")) << said.out;
    EXPECT_TRUE(said.has("of " + std::to_string(hosts) + " simulated hosts")) << said.out;
    EXPECT_EQ(results_of(said), alone);
  }
}

TEST(Demo, OnSeveralHostsFindsADroppedGradient) {
  DemoOptions options = quick();
  options.hosts = 2;
  options.dropped_replica = 3;
  EXPECT_EQ(say(options).code, ExitCode::kMismatch);
}

TEST(Demo, QuietSaysResultsAlone) {
  const Said said = say(quick(), {.colors = false, .progress = true, .quiet = true});
  EXPECT_EQ(std::count(said.out.begin(), said.out.end(), '\n'), 4) << said.out;
  EXPECT_TRUE(said.out.starts_with("accuracy  ")) << said.out;
  EXPECT_EQ(said.notes, "");
}

TEST(Demo, ShowsProgressOnATerminal) {
  const Said said = say(quick(), {.colors = false, .progress = true, .quiet = false});
  EXPECT_NE(said.notes.find("epoch 2 of 2: 100 %"), std::string::npos);
}

TEST(Demo, ADroppedGradientIsAMismatch) {
  DemoOptions options = quick();
  options.dropped_replica = 2;
  const Said said = say(options);
  EXPECT_EQ(said.code, ExitCode::kMismatch);
  EXPECT_TRUE(said.has("[WRONG] 46 of 46 steps differ from one device")) << said.out;
}

TEST(Demo, ARateTooLargeIsNamed) {
  DemoOptions options = quick();
  options.rate = 1e38;
  const Said said = say(options);
  EXPECT_EQ(said.code, ExitCode::kMismatch);
  EXPECT_TRUE(said.has("[WRONG] the loss or a weight is no longer finite")) << said.out;
}

TEST(Demo, ReplicasMayBeMoreThanImages) {
  DemoOptions options = quick();
  options.replicas = 6;
  options.batch = 4;
  options.epochs = 1;
  const Said said = say(options);
  EXPECT_EQ(said.code, ExitCode::kGood);
  EXPECT_TRUE(said.has("batches of 4 as 1+1+1+1+0+0, the last of 2 as 1+1+0+0+0+0")) << said.out;
}

TEST(Demo, TheHostHalfOfCudaSaysSo) {
  DemoOptions options = quick();
  options.backend = BackendKind::kCuda;
  const Said cuda = say(options);
  EXPECT_EQ(cuda.code, ExitCode::kGood);
  EXPECT_TRUE(cuda.has("claim     host half")) << cuda.out;
  EXPECT_TRUE(cuda.has("The first step of the training on 2 simulated devices")) << cuda.out;
  EXPECT_TRUE(cuda.has("[ok]    46 steps match one device")) << cuda.out;
}

TEST(Demo, CudaWithoutADriverIsAnErrorOfTheEnvironment) {
  const sim::SimulatedDriver machine({.installed = false});
  DemoOptions options = quick();
  options.backend = BackendKind::kCuda;
  try {
    say(options);
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNoDriver) << error.what();
  }
}

}  // namespace
}  // namespace belfry::demo::demo_test
