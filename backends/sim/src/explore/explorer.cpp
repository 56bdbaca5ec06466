// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// How an exploration works. The run of the judged schedule is observed. The verdict is a
// certificate if the run meets all conditions, and the serial schedule, the reverse of the serial
// schedule and four random schedules do the same: a difference means accesses without an
// observation. If not, the judged schedule runs again: there is no verdict if the runs differ. More
// schedules run until an outcome differs. No seed of the caller's decides a schedule (SEM-225). A
// schedule that differs from the serial schedule is shrunk: trials set choices to those of the
// serial schedule, and keep the outcome.
#include "belfry/sim/explore.h"
#include "belfry/sim/replay_token.h"
#include "checked_options.h"
#include "explore/body_run.h"
#include "explore/conditions.h"
#include "explore/delaying_chooser.h"
#include "explore/guided_chooser.h"
#include "explore/missed_accesses.h"
#include "explore/outcome_text.h"
#include "explore/reverse_chooser.h"
#include "explore/shrunk_answers.h"
#include "explore/verdict_trace.h"
#include "schedule/fixed_chooser.h"
#include "schedule/random_chooser.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace belfry::sim {
namespace {

// Random schedules have seeds of the library: seeds 1 to kConfirming run before a certificate, and
// seeds 1 to kRandom in search of a second outcome.
constexpr std::uint64_t kConfirming = 4;
constexpr std::uint64_t kRandom = 6;
constexpr int kDelays = 6;
constexpr int kTrials = 48;

// How two runs differ; nothing if they do the same.
std::optional<std::string> difference_of_repeats(const BodyRun& first, const BodyRun& second) {
  const bool same = first.outcome().same(second.outcome());
  const auto [one, two] = around_difference(first.outcome().text(), second.outcome().text());
  const std::string outcomes = "the outcomes are " + one + " and " + two;
  if (const auto difference = compare(first.log(), second.log())) {
    return "two runs of one schedule differ: " + difference->text + (same ? "" : outcomes);
  }
  if (same) return std::nullopt;
  return "two runs of one schedule do the same operations, and " + outcomes;
}

using Agents = std::vector<AgentId>;

// Agents to delay together: for each race the agents of either side. One of the two schedules has
// the first access first, and one the second. The order of the run has no influence.
std::set<Agents> agents_to_delay(const BodyRun& run) {
  std::set<Agents> delayed = run.detector().agents_of_races();
  for (const watch::HostConflict& conflict : run.host().conflicts) {
    delayed.insert({conflict.first.actor.agent});
    delayed.insert({conflict.second.actor.agent});
  }
  delayed.erase(Agents());
  return delayed;
}

// Whether a replica ends a block of memory that a second replica uses, without an order.
bool frees_in_use(const BodyRun& run) {
  return std::ranges::any_of(run.host().conflicts, [](const watch::HostConflict& conflict) {
    return conflict.first.releases || conflict.second.releases;
  });
}

ScheduleOutcome outcome_of(const BodyRun& run) {
  return {run.token(), shortened(run.outcome().text()), {}, run.outcome().threw};
}

Answers answers_of(const std::string& token) {
  Answers answers;
  for (const Choice& choice : decode_choices(token)) answers.push_back(choice.value);
  return answers;
}

std::vector<std::string> in_words(const std::vector<Departure>& departures) {
  std::vector<std::string> words;
  for (const Departure& departure : departures) words.push_back(to_string(departure));
  return words;
}

// Blocks in the places of memory that the first run has freed: the memory of the next run gets
// other addresses, and outcomes of addresses differ.
class OtherAddresses {
 public:
  OtherAddresses() {
    for (std::size_t bytes = kStep; bytes <= kMostBytes; bytes += kStep) {
      blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
    }
  }

 private:
  static constexpr std::size_t kStep = 128;
  static constexpr std::size_t kMostBytes = 4096;

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

class Exploration {
 public:
  Exploration(const Options& options, const ExploredBody& body, std::uint64_t judged_seed)
      : options_(explored(options)), body_(body), judged_seed_(judged_seed) {}

  VerdictReport judge() {
    RandomChooser random(judged_seed_);
    const BodyRun first(options_, judged_by(random), body_, Scrutiny::kAll);
    report_.schedules = 1;
    tokens_.insert(first.token());
    report_.outcomes = {outcome_of(first)};
    report_.races = races_of(first);
    delayed_ = agents_to_delay(first);
    if (first.host().kernel_access) add_races_of_bodies();
    report_.notes = notes_of(first);
    if (first.facts().abandoned) return none(*first.facts().abandoned);
    if (frees_in_use(first)) return racy_once(first);
    report_.conditions = conditions_of(first, options_);
    const bool meets_all = std::ranges::all_of(report_.conditions, &Condition::holds);
    if (meets_all && certifies(first)) return std::move(report_);
    if (const auto difference = difference_of_repeat(first)) return none(*difference);
    if (meets_all) {
      // Bodies with state of their own may repeat in every second run alone.
      if (const auto difference = difference_of_repeat(first)) return none(*difference);
      take_back_host_bytes(report_.conditions);
    }
    report_.level = report_.races.empty() ? VerdictLevel::kSampled : VerdictLevel::kRacy;
    refute(first);
    return std::move(report_);
  }

 private:
  // `random` makes the choices of the judged schedule unless the caller has named a schedule. The
  // seed of the options belongs to the body alone.
  Attachments judged_by(RandomChooser& random) const {
    const bool is_random = options_.schedule.kind == ScheduleKind::kRandom;
    return {.chooser = is_random ? &random : nullptr};
  }

  // Whether the serial schedule, its reverse and random schedules do as `first`. The run `first`
  // meets all conditions.
  bool certifies(const BodyRun& first) {
    const OtherAddresses blocks;
    logs_ = {first.log().hash()};
    if (!does_the_same<FixedChooser>(first) || !does_the_same<ReverseChooser>(first)) return false;
    for (std::uint64_t seed = 1; seed <= kConfirming; ++seed) {
      if (!does_the_same<RandomChooser>(first, seed)) return false;
    }
    report_.schedules = static_cast<int>(logs_.size());
    report_.level = VerdictLevel::kCertified;
    confirm_by_schedules(report_.conditions, first.log());
    return true;
  }

  // Whether a run with the choices of a new C does as `first`. Equal hashes suffice; unequal hashes
  // may come from names of streams, an effect of the order, and later hashes will be unequal, too.
  template <class C, class... Args>
  bool does_the_same(const BodyRun& first, Args... args) {
    if (!by_steps_) {
      C chooser(args...);
      Options options = serially();
      options.record_limit = 0;
      const BodyRun run(options, {.chooser = &chooser}, body_, Scrutiny::kNothing);
      logs_.insert(run.log().hash());
      if (!first.outcome().same(run.outcome())) return false;
      if (first.log().order_free_hash() == run.log().order_free_hash()) return true;
      by_steps_ = true;
    }
    C chooser(args...);
    const BodyRun run(serially(), {.chooser = &chooser}, body_, Scrutiny::kSteps);
    logs_.insert(run.log().hash());
    return run.log().dropped() == 0 && !difference_of(first, run);
  }

  std::optional<std::string> difference_of_repeat(const BodyRun& first) {
    const OtherAddresses blocks;
    RandomChooser random(judged_seed_);
    const BodyRun again(options_, judged_by(random), body_, Scrutiny::kNothing);
    return difference_of_repeats(first, again);
  }

  // The watch keeps freed memory; in runs without a watch the body might use memory after its end.
  VerdictReport racy_once(const BodyRun& first) {
    report_.level = VerdictLevel::kRacy;
    report_.conditions = conditions_of(first, options_);
    Condition& repeats = report_.conditions.front();
    repeats = {repeats.name, false,
               "the body ran once: a second run could use memory after its end"};
    return std::move(report_);
  }

  VerdictReport none(std::string why) {
    report_.level = VerdictLevel::kNone;
    report_.difference = std::move(why);
    report_.conditions.clear();
    return std::move(report_);
  }

  // The judged schedule decides when a body of a kernel runs. With streams before replicas, all
  // bodies meet the accesses of the phase of their launch.
  void add_races_of_bodies() {
    ReverseChooser chooser;
    const BodyRun run(serially(), {.chooser = &chooser}, body_, Scrutiny::kAll);
    delayed_.merge(agents_to_delay(run));
    for (const Race& race : races_of(run)) {
      const auto same = [&](const Race& known) {
        Race turned = known;
        std::swap(turned.first, turned.second);
        return known == race || turned == race;
      };
      if (std::ranges::none_of(report_.races, same)) report_.races.push_back(race);
    }
  }

  // Schedules that are likely to differ: the serial schedule, its reverse, both orders of the first
  // races, and random schedules. The judged schedule decides none of them: two of them with two
  // outcomes refute whichever schedule is judged.
  void refute(const BodyRun& first) {
    const BodyRun serial(serially(), {}, body_, Scrutiny::kOrder);
    if (decides(first, serial, serial)) return;
    const auto try_schedule = [&](Chooser&& chooser) {
      const BodyRun run(serially(), {.chooser = &chooser}, body_, Scrutiny::kOrder);
      return decides(first, run, serial);
    };
    if (try_schedule(ReverseChooser())) return;
    int delays = 0;
    for (const Agents& agents : delayed_) {
      if (++delays > kDelays) break;
      if (try_schedule(DelayingChooser(agents))) return;
    }
    for (std::uint64_t seed = 1; seed <= kRandom; ++seed) {
      if (try_schedule(RandomChooser(seed))) return;
    }
  }

  Options serially() const {
    Options options = options_;
    options.schedule = Schedule::fixed();
    return options;
  }

  // Whether `run`, of a further schedule, decides the verdict.
  bool decides(const BodyRun& first, const BodyRun& run, const BodyRun& serial) {
    if (tokens_.insert(run.token()).second) ++report_.schedules;
    const auto difference = difference_of(first, run);
    if (!difference) return false;
    report_.outcomes.push_back(outcome_of(run));
    if (!repeats(first.token(), first) || !repeats(run.token(), run)) {
      report_ = none("a schedule has different outcomes when it runs again: " + *difference);
      return true;
    }
    report_.level = VerdictLevel::kRefuted;
    report_.difference = *difference;
    // Until now the serial schedule did as the judged schedule.
    if (&run == &serial) {
      report_.outcomes[0] = shrunk_schedule(first, serial);
    } else {
      report_.outcomes = {outcome_of(serial), shrunk_schedule(run, serial)};
    }
    return true;
  }

  // A schedule with the outcome of `run`, or, if the outcome is that of the serial schedule, with
  // steps that differ from the serial schedule's; the schedule of `run` itself if no trial
  // succeeds.
  ScheduleOutcome shrunk_schedule(const BodyRun& run, const BodyRun& serial) {
    if (run.token().empty()) return outcome_of(run);
    const bool by_outcome = !run.outcome().same(serial.outcome());
    std::optional<std::string> steps;
    ScheduleOutcome best;
    std::size_t fewest = 0;
    const AnswerTrial trial = [&](const Answers& answers) -> std::optional<Answers> {
      GuidedChooser guide(answers);
      const BodyRun tried(serially(), {.chooser = &guide, .observer = &guide}, body_,
                          by_outcome ? Scrutiny::kNothing : Scrutiny::kOrder);
      if (tried.token().empty() || !tried.outcome().same(run.outcome())) return std::nullopt;
      const auto difference = by_outcome ? std::nullopt : difference_of(serial, tried);
      if (!by_outcome && !difference) return std::nullopt;
      Answers given = answers_of(tried.token());
      if (best.token.empty() || departures_in(given) < fewest) {
        fewest = departures_in(given);
        best = outcome_of(tried);
        best.departures = in_words(guide.departures());
        steps = difference;
      }
      return given;
    };
    const std::optional<Answers> given = trial(answers_of(run.token()));
    if (given) (void)shrunk(*given, kTrials, trial);
    if (!given || !repeats(best.token, run)) return outcome_of(run);
    if (steps) report_.difference = *steps;
    return best;
  }

  static std::optional<std::string> difference_of(const BodyRun& first, const BodyRun& second) {
    if (!first.outcome().same(second.outcome())) {
      const auto [one, two] = around_difference(first.outcome().text(), second.outcome().text());
      if (one == two) return "the outcomes differ, and the text of both is " + one;
      return one + " in the first schedule, " + two + " in the second";
    }
    if (first.log().dropped() != 0 || second.log().dropped() != 0) return std::nullopt;
    const auto steps = difference(first.steps(), second.steps());
    if (!steps) return std::nullopt;
    return "the outcome is the same, and the operations differ at " + *steps;
  }

  // Whether `token` gives the outcome of `run` again.
  bool repeats(const std::string& token, const BodyRun& run) {
    if (token.empty()) return true;
    Options options = options_;
    options.schedule = Schedule::replay(token);
    const BodyRun again(options, {}, body_, Scrutiny::kNothing);
    return again.outcome().same(run.outcome());
  }

  const Options options_;
  const ExploredBody& body_;
  const std::uint64_t judged_seed_;
  VerdictReport report_;
  std::set<std::string> tokens_;  // Of all schedules so far.
  std::set<std::uint64_t> logs_;  // The hashes of the runs before a certificate,
  bool by_steps_ = false;         // and whether equal runs have unequal hashes.
  std::set<Agents> delayed_;
};

}  // namespace

Verdict detail::explore(const Options& options, const ExploredBody& body, TraceFile* trace,
                        const CallSite& site, WatchCompiler compiler, std::uint64_t judged_seed) {
  if (options.carrier == Carrier::kConcurrent) {
    VerdictReport report;
    report.difference = "replicas on concurrent threads have no schedule: use the carrier kFiber";
    return Verdict(std::move(report));
  }
  const VerdictTrace traced(trace);
  const Options checked = checked_options(options, site);
  VerdictReport report = Exploration(checked, body, judged_seed).judge();
  if (report.level == VerdictLevel::kCertified) report.missed = missed_accesses(compiler);
  const Verdict verdict(std::move(report));
  traced.write(verdict, checked, body, site);
  return verdict;
}

}  // namespace belfry::sim
