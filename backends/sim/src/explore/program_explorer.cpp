// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// How a program is explored. A first run lists the backends. Then each backend gets an exploration
// whose body is the program: the constructor of the backend takes the exploration's backend.
#include "belfry/sim/explore.h"
#include "belfry/sim/explore_program.h"
#include "explore/present_body.h"
#include "explore/program_run.h"

#include <memory>
#include <utility>
#include <vector>

namespace belfry::sim {
namespace {

using Program = std::function<BodyResult()>;

void list_backends(const Program& program, const std::shared_ptr<ExploredProgram>& explored) {
  const PresentBody outside(nullptr);
  const ProgramRun run(explored, 0, nullptr);
  try {
    (void)program();
  } catch (...) {  // An outcome, which the explorations meet again.
  }
  explored->backends = run.made();
}

Verdict without_schedule(std::string_view reason) {
  VerdictReport report;
  report.difference = reason;
  return Verdict(std::move(report));
}

}  // namespace

std::vector<JudgedBackend> detail::explore_program(const Program& program, WatchCompiler compiler) {
  const auto explored = std::make_shared<ExploredProgram>();
  list_backends(program, explored);
  std::vector<JudgedBackend> judged;
  for (const MadeBackend& made : explored->backends) {
    const int number = static_cast<int>(judged.size()) + 1;
    const auto body = [&](Backend& backend) {
      const ProgramRun run(explored, number, &backend);
      return program();
    };
    judged.push_back({made.site, made.options,
                      made.refusal.empty() ? detail::explore(made.options, body, nullptr, made.site,
                                                             compiler, made.options.seed)
                                           : without_schedule(made.refusal)});
  }
  return judged;
}

std::string to_string(const JudgedBackend& judged) {
  return to_string(judged.site) + ": " + to_string(judged.verdict);
}

}  // namespace belfry::sim
