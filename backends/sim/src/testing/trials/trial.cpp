// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "testing/trials/trial.h"

#include "belfry/sim/explore.h"
#include "explore/body_run.h"
#include "explore/conditions.h"
#include "testing/all_schedules.h"
#include "testing/trials/program_oracle.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace belfry::sim::testing {
namespace {

Options options_of(const TrialProgram& program, std::uint64_t seed) {
  return {
      .devices = program.devices, .digests = Digests::kNone, .seed = seed, .check_kernels = true};
}

// Whether replicas make variables: belfry then changes the strategy, a variable of watched code.
bool makes_variables(const TrialProgram& program) {
  return program.replicas && (program.replicas->has(PublicStep::Kind::kMakeVariable) ||
                              program.replicas->has(PublicStep::Kind::kMakeLocal));
}

class TrialRun {
 public:
  TrialRun(Trial& trial, const TrialPlan& plan)
      : trial_(trial), plan_(plan), trace_(trial.program.steps()) {}

  void explore_twice() {
    const auto body = [&](Backend& backend) { return trial_.program.run(backend, nullptr); };
    trial_.verdicts.push_back(explore(observed(0), body));
    if (plan_.mistakes) return;
    const bool refuted = trial_.verdicts[0].level() == VerdictLevel::kRefuted;
    if (refuted && trial_.program.seed % 4 != 0) return;
    trial_.verdicts.push_back(explore(observed(1), body));
    if (trial_.verdicts[0].level() == trial_.verdicts[1].level()) return;
    const auto run = [&](std::uint64_t i) {
      Options options = observed(i);
      options.digests = Digests::kAll;
      return BodyRun(options, {}, compared(body), Scrutiny::kOrder);
    };
    const BodyRun first = run(0);
    const BodyRun second = run(1);
    trial_.observed_differ = !first.outcome().same(second.outcome()) ||
                             difference(first.steps(), second.steps()).has_value();
  }

  void try_schedules() {
    AllSchedules schedules;
    for (int i = 0; i < plan_.in_order && !trial_.all; ++i) {
      try_schedule(0, &schedules);
      trial_.all = !schedules.next();
    }
    if (trial_.all) return;
    for (int i = 0; i < plan_.random; ++i) {
      try_schedule(trial_.program.seed + static_cast<std::uint64_t>(i), nullptr);
    }
  }

  void try_mistake() {
    if (!trial_.program.replicas) return;
    auto wrong = with_mistake(*trial_.program.replicas, trial_.program.seed);
    if (!wrong) return;
    Backend backend(options_of(trial_.program, trial_.program.seed));
    ProgramOutcome outcome = testing::run(wrong->program, backend);
    Verdict verdict = explore(
        observed(0), [&](Backend& of_verdict) { return testing::run(wrong->program, of_verdict); });
    trial_.wrong.emplace(WrongTrial{*std::move(wrong), std::move(verdict), std::move(outcome)});
  }

  // The program has few schedules: traces each, and judges each as observed one.
  void trace_all() {
    AllSchedules traced;
    do {
      Backend backend(options_of(trial_.program, 0), {.chooser = &traced, .observer = &trace_});
      trial_.program.run(backend, &trace_);
      trace_.end_schedule();
    } while (traced.next());
    AllSchedules judged;
    do {
      judge(0, &judged);
    } while (judged.next());
    for (const Race& race : trial_.verdicts.front().report().races) {
      if (!trace_.reverses(race)) trial_.ordered_races.push_back(to_string(race));
    }
    trial_.reversed_pair = trace_.reversed_pair();
  }

  // The run of a schedule as explorations judge the observed run.
  void judge(std::uint64_t seed, Chooser* chooser) {
    Options options = options_of(trial_.program, seed);
    options.digests = Digests::kAll;
    const BodyRun run(options, {.chooser = chooser}, compared([&](Backend& backend) {
                        return trial_.program.run(backend, nullptr);
                      }),
                      Scrutiny::kAll);
    ++trial_.judged;
    const auto conditions = conditions_of(run, options);
    trial_.certified += std::ranges::all_of(conditions, &Condition::holds) ? 1 : 0;
  }

 private:
  // The options of the observed schedule `i`, 0 or 1. The serial schedule is the second
  // one of half of the programs.
  Options observed(std::uint64_t i) const {
    Options options = options_of(trial_.program, trial_.program.seed + i);
    options.audit_watch = plan_.audits && !makes_variables(trial_.program);
    if (i == 1 && trial_.program.seed / 4 % 2 == 0) options.schedule = Schedule::fixed();
    return options;
  }

  static ExploredBody compared(std::function<ProgramOutcome(Backend&)> body) {
    return [body = std::move(body)](Backend& backend) {
      return detail::result_of<ProgramOutcome>(body(backend));
    };
  }

  void try_schedule(std::uint64_t seed, Chooser* chooser) {
    Backend backend(options_of(trial_.program, seed), {.chooser = chooser});
    ProgramOutcome outcome = trial_.program.run(backend, nullptr);
    ++trial_.schedules;
    if (trial_.outcomes.contains(outcome)) return;
    trial_.outcomes.emplace(std::move(outcome), backend.replay_token());
  }

  Trial& trial_;
  const TrialPlan& plan_;
  OrderTrace trace_;
};

std::string fault_of_outcomes(const Trial& trial) {
  if (!trial.expected) return "";
  for (const auto& [outcome, token] : trial.outcomes) {
    if (outcome != *trial.expected) {
      return "the outcome is not " + detail::result_of<ProgramOutcome>(*trial.expected).text;
    }
  }
  if (trial.has_groups() && trial.is_certified() && trial.expected->second.empty()) {
    return "a program with groups is CERTIFIED";
  }
  if (!trial.wrong) return "";
  const auto& [program, verdict, outcome] = *trial.wrong;
  const bool is_as_expected =
      program.expected ? outcome == *program.expected : !outcome.second.empty();
  if (is_as_expected && outcome != *trial.expected) return "";
  return program.mistake + " of " + program.verb + " has the outcome " +
         detail::result_of<ProgramOutcome>(outcome).text + " of\n" + to_string(program.program);
}

// Whether two explorations say the same, from two observed schedules (SEM-225): the levels differ
// only if the observed schedules themselves have two outcomes, and the further schedules have one.
bool agree(const Trial& trial) {
  const Verdict& first = trial.verdicts.front();
  const Verdict& second = trial.verdicts.back();
  if (first.report().races.empty() != second.report().races.empty()) return false;
  if (first.level() == second.level()) return true;
  const bool refuted =
      first.level() == VerdictLevel::kRefuted || second.level() == VerdictLevel::kRefuted;
  return refuted && trial.observed_differ;
}

}  // namespace

Trial try_program(std::uint64_t seed, const TrialPlan& plan) {
  Trial trial{.program = draw_program(seed, plan.size)};
  if (trial.program.replicas) trial.expected = predict(*trial.program.replicas);
  TrialRun run(trial, plan);
  run.explore_twice();
  run.try_schedules();
  if (plan.mistakes) {
    run.try_mistake();
  } else if (plan.traces && trial.all) {
    run.trace_all();
  } else {
    run.judge(seed + 2, nullptr);
    run.judge(seed + 3, nullptr);
  }
  return trial;
}

std::string fault_of(const Trial& trial) {
  for (const Verdict& verdict : trial.verdicts) {
    if (verdict.level() == VerdictLevel::kNone) return "a program that repeats is NONE";
    if (explain(verdict).find("without a seen write") != std::string::npos) {
      return "memory changed without a seen write";
    }
    // Their order alone keeps raw streams from a certificate.
    if (verdict.level() == VerdictLevel::kSampled && !trial.program.replicas) {
      return "a program of raw streams is SAMPLED";
    }
    if (verdict.level() == VerdictLevel::kCertified && trial.diverges()) {
      return "a certificate is wrong: two schedules have two outcomes";
    }
  }
  if (std::string fault = fault_of_outcomes(trial); !fault.empty()) return fault;
  if (!agree(trial)) {
    return "the level depends on the observed schedule: " + to_string(trial.verdicts.front()) +
           " and " + to_string(trial.verdicts.back());
  }
  if (trial.certified != (trial.is_certified() ? trial.judged : 0)) {
    return "the level depends on the observed schedule: " + std::to_string(trial.certified) +
           " of " + std::to_string(trial.judged) + " runs meet the conditions";
  }
  if (!trial.ordered_races.empty()) {
    return "every schedule orders a race:\n" + trial.ordered_races.front();
  }
  if (trial.is_certified() && !trial.reversed_pair.empty()) {
    return "two schedules order a pair of accesses differently: " + trial.reversed_pair;
  }
  return "";
}

std::string to_string(const Trial& trial) {
  std::string text = "seed " + std::to_string(trial.program.seed) + ": " + trial.program.text;
  const bool same = trial.verdicts.front().level() == trial.verdicts.back().level();
  for (std::size_t i = 0; i < (same ? 1 : 2); ++i) {
    text += '\n' + explain(trial.verdicts[i]);
    if (!text.ends_with('\n')) text += '\n';
  }
  text += std::to_string(trial.schedules) + (trial.all ? " schedules, all\n" : " schedules\n");
  for (const auto& [outcome, token] : trial.outcomes) {
    text += detail::result_of<ProgramOutcome>(outcome).text + ", replay " + token + '\n';
  }
  return text;
}

}  // namespace belfry::sim::testing
