// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/testing/scripted_job.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace belfry::carriers_agree_test {
namespace {

using testing::CountdownStreams;
using testing::ScriptedJob;
using testing::SeededChooser;
using testing::Trace;

struct Action {
  enum Kind { kStep, kMeet, kWait, kNest };
  Kind kind = kStep;
  int number = 0;  // Subject, unused, stream, inner replicas.
};

struct Program {
  std::vector<std::vector<Action>> replicas;
  std::vector<int> streams;
  std::uint64_t seed = 0;
  bool concurrent = true;
};

rc::Gen<Action> action(int streams) {
  return rc::gen::map(
      rc::gen::pair(
          rc::gen::weightedElement<int>({{4, 0}, {4, 1}, {streams > 0 ? 3U : 0U, 2}, {1, 3}}),
          rc::gen::inRange(0, 100)),
      [streams](const std::pair<int, int>& drawn) {
        const auto kind = static_cast<Action::Kind>(drawn.first);
        const int limit = kind == Action::kWait ? streams : kind == Action::kNest ? 4 : 100;
        return Action{kind, drawn.second % limit};
      });
}

Program drawn_program() {
  Program program;
  program.streams =
      *rc::gen::resize(3, rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 5)));
  const auto list = rc::gen::resize(
      8, rc::gen::container<std::vector<Action>>(action(static_cast<int>(program.streams.size()))));
  program.replicas =
      *rc::gen::resize(6, rc::gen::container<std::vector<std::vector<Action>>>(list));
  program.seed = *rc::gen::arbitrary<std::uint64_t>();
  program.concurrent = *rc::gen::weightedElement<bool>({{4, true}, {1, false}});
  return program;
}

struct Outcome {
  std::vector<std::string> lines;
  std::vector<std::uint32_t> counts;
  int merges = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome run(std::unique_ptr<Executor> (*make)(const ExecutorParts&), const Program& program) {
  Trace trace;
  SeededChooser chooser(program.seed);
  CountdownStreams streams(&trace, program.streams);
  const auto executor = make({.chooser = &chooser, .sink = &trace, .agents = &streams});
  streams.executor = executor.get();
  ScriptedJob job(
      *executor, static_cast<int>(program.replicas.size()), [&](ScriptedJob& self, int replica) {
        for (const Action& action : program.replicas[static_cast<std::size_t>(replica)]) {
          const auto stream = static_cast<std::size_t>(action.number);
          switch (action.kind) {
            case Action::kStep:
              self.step(replica, static_cast<std::uint64_t>(action.number));
              break;
            case Action::kMeet:
              self.meet(replica);
              break;
            case Action::kWait:
              if (!streams.done(stream)) self.wait_at(replica, streams.gate(stream));
              break;
            case Action::kNest:
              ScriptedJob inner(*executor, action.number, [](ScriptedJob& inner_self, int id) {
                inner_self.step(id, 1000);
                inner_self.meet(id);
              });
              inner.run();
              break;
          }
        }
      });
  job.run(program.concurrent);
  return {trace.lines(), chooser.counts, job.merges};
}

RC_GTEST_PROP(Carriers, FibersAndBatonMakeTheSameChoicesAndTakeTheSameSteps, ()) {
  const Program program = drawn_program();
  const Outcome fibers = run(make_fiber_executor, program);
  const Outcome baton = run(make_baton_executor, program);
  RC_ASSERT(fibers.lines == baton.lines);
  RC_ASSERT(fibers.counts == baton.counts);
  // Worked out from the program alone: a merge for each round with an arrival.
  std::ptrdiff_t most = 0;
  for (const auto& actions : program.replicas) {
    most = std::max(most, std::count_if(actions.begin(), actions.end(), [](const Action& action) {
                      return action.kind == Action::kMeet;
                    }));
  }
  RC_ASSERT(fibers.merges == most);
}

RC_GTEST_PROP(Carriers, ThatRunAtOnceReachTheSameMerges, ()) {
  Program program = drawn_program();
  for (auto& actions : program.replicas) {
    std::erase_if(actions, [](const Action& action) { return action.kind == Action::kWait; });
  }
  RC_ASSERT(run(make_concurrent_executor, program).merges ==
            run(make_fiber_executor, program).merges);
}

// With steps alone every order of all steps is possible; a schedule of some seed must show each of
// the two orders of two steps of two replicas.
TEST(Carriers, EveryOrderOfTwoStepsHappens) {
  const Program both{{{{Action::kStep, 1}}, {{Action::kStep, 2}}}, {}, 0, true};
  int first = 0;
  int second = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Program program = both;
    program.seed = seed;
    const Outcome outcome = run(make_fiber_executor, program);
    const auto one = std::find(outcome.lines.begin(), outcome.lines.end(), "R0 variable_read 1");
    const auto two = std::find(outcome.lines.begin(), outcome.lines.end(), "R1 variable_read 2");
    (one < two ? first : second) += 1;
  }
  EXPECT_GT(first, 5);
  EXPECT_GT(second, 5);
}

}  // namespace
}  // namespace belfry::carriers_agree_test
