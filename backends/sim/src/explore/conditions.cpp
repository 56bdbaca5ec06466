// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/conditions.h"

#include "log/unnamed_merges.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace belfry::sim {
namespace {

constexpr const char* kHostBytes = "replicas share no host bytes that one of them writes";

std::string count(std::uint64_t number, std::string_view unit, std::string_view units) {
  return std::to_string(number) + ' ' + std::string(number == 1 ? unit : units);
}

std::string operations(const Log& log) { return count(log.size(), "operation", "operations"); }

// A condition while its checks are made. The first fact against the condition is the evidence.
class Row {
 public:
  Row(const char* name, std::vector<Breach>& breaches) : name_(name), breaches_(breaches) {}

  void breaks(Breach breach, std::string evidence) {
    breaches_.push_back(breach);
    if (!against_) against_ = std::move(evidence);
  }
  void breaks_by(Breach breach, const RunFacts::First& fact, std::string_view reason = {}) {
    if (fact) breaks(breach, *fact + std::string(reason));
  }
  /// The condition, with `evidence` if no fact is against it.
  Condition otherwise(std::string evidence) const {
    return {name_, !against_, against_ ? *against_ : std::move(evidence)};
  }

 private:
  const char* name_;
  std::vector<Breach>& breaches_;
  std::optional<std::string> against_;
};

RaceSide side_of(const watch::HostAccess& access) {
  return {.agent = to_string(access.actor),
          .operation = access.releases    ? "delete or free"
                       : access.of_kernel ? "a kernel"
                                          : "the code",
          .writes = access.write,
          .place = watch::source_line(access)};
}

Race race_of(const watch::HostConflict& conflict) {
  return {side_of(conflict.first), side_of(conflict.second),
          count(conflict.bytes, "byte", "bytes") + " of host memory",
          "a merge, or the begin or end of a run, between the two accesses is missing"};
}

std::string text_of(const watch::KernelAccess& found) {
  std::string text = "the kernel " + std::string(found.body.name);
  if (!found.body.site.empty()) text += ", launched at " + to_string(found.body.site) + ',';
  text += found.access.write ? " writes" : " reads";
  text += " memory of the program";
  const std::string line = watch::source_line(found.access);
  if (!line.empty()) text += " at " + line;
  return text + ", and no order of the stream with the host is known: use operands";
}

// The conditions of a run, and the ways in which the run breaks them.
class Judgement {
 public:
  Judgement(const BodyRun& run, const Options& options)
      : run_(run), options_(options), facts_(run.facts()), host_(run.host()) {
    conditions = {repeats(),     device_bytes(),    host_bytes(),  blindness(), events(),
                  no_failures(), declared_orders(), own_backend(), no_draws()};
  }

  std::vector<Condition> conditions;
  std::vector<Breach> breaches;

 private:
  Condition repeats();
  Condition device_bytes();
  Condition host_bytes();
  void check_watch(Row& row) const;
  Condition blindness();
  Condition events();
  Condition no_failures();
  void check_limit(Row& row) const;
  Condition declared_orders();
  Condition own_backend();
  Condition no_draws();

  const BodyRun& run_;
  const Options& options_;
  const RunFacts& facts_;
  const watch::HostReport& host_;
};

Condition Judgement::repeats() {
  Row row("the body repeats", breaches);
  if (!run_.is_recorded()) {
    row.breaks(Breach::kUnrecorded,
               "the run has more operations or choices than are kept: raise "
               "Options::record_limit");
  }
  if (!host_.new_answers.empty()) {
    row.breaks(Breach::kNewAnswers,
               host_.new_answers.front() +
                   " has a new answer in each run: pass the answer to the body as a value");
  }
  return row.otherwise("two runs of one schedule did the same " + operations(run_.log()) +
                       ", with the same outcome");
}

Condition Judgement::device_bytes() {
  Row row("device bytes have an order", breaches);
  if (const std::size_t races = run_.detector().races().size(); races != 0) {
    row.breaks(Breach::kDeviceRace,
               count(races, "pair of accesses has", "pairs of accesses have") + " no order");
  }
  if (run_.detector().nests_in_replica()) {
    row.breaks(Breach::kNestedRun,
               "a replica began a run: orders are known for runs of callers and merges");
  }
  row.breaks_by(Breach::kGroup, facts_.grouped,
                ": orders its members alone, and orders are known for merges of all replicas");
  row.breaks_by(Breach::kProgramMemory, facts_.foreign, ": is memory of the program, too");
  return row.otherwise(count(facts_.work, "piece of work", "pieces of work"));
}

Condition Judgement::host_bytes() {
  Row row(kHostBytes, breaches);
  check_watch(row);
  if (!host_.conflicts.empty()) {
    row.breaks(Breach::kHostRace,
               count(host_.conflicts.size(), "pair of accesses", "pairs of accesses") +
                   " to the same bytes, between the same merges");
  }
  if (!host_.unseen.empty()) {
    std::string unseen = "accesses may be unseen in: ";
    for (const std::string& reason : host_.unseen) unseen += reason + "; ";
    row.breaks(Breach::kUnseenCode,
               unseen + "vouch for functions with belfry_watch(target VOUCH ...)");
  }
  if (host_.kernel_access) row.breaks(Breach::kUnknownOrder, text_of(*host_.kernel_access));
  return row.otherwise(count(host_.accesses, "access", "accesses") + " of replicas");
}

// Whether accesses to host memory are seen at all.
void Judgement::check_watch(Row& row) const {
  if (run_.is_nested()) {
    row.breaks(Breach::kInnerExploration,
               "an exploration in the body of an exploration watches no host memory");
  } else if (run_.is_on_fiber()) {
    row.breaks(Breach::kInnerExploration,
               "an exploration in a replica, or in a host of a cluster, watches no host memory: "
               "explore outside of runs and clusters");
  } else if (run_.is_second()) {
    row.breaks(Breach::kInnerExploration,
               "an exploration of a second thread watched host memory meanwhile");
  } else if (!watch::linked()) {
    row.breaks(Breach::kUnwatchedProgram,
               "no code is watched: write belfry_watch(target) in CMakeLists.txt");
  } else if (facts_.runs != 0 && host_.accesses == 0) {
    row.breaks(Breach::kUnwatchedReplicas,
               "no replica ran watched code: write belfry_watch(target) for its target");
  }
}

Condition Judgement::blindness() {
  Row row("nothing asks for the progress of agents", breaches);
  row.breaks_by(Breach::kQuestion, facts_.asked);
  if (host_.used_locks) {
    row.breaks(Breach::kLock, "a replica uses a lock, whose order is the schedule's");
  }
  if (host_.used_atomics) row.breaks(Breach::kAtomic, "a replica uses an atomic object");
  if (host_.shared_last_owner) {
    row.breaks(Breach::kLastOwner, "replicas share an object, and the last owner ends the object");
  }
  return row.otherwise("no query, no look at log or memory, no lock, no atomic object");
}

Condition Judgement::events() {
  Row row("events have an order", breaches);
  const std::vector<Race>& races = run_.detector().event_races();
  if (!races.empty()) row.breaks(Breach::kEventRace, to_string(races.front()));
  return row.otherwise(count(facts_.event_uses, "record or wait", "records and waits"));
}

Condition Judgement::no_failures() {
  Row row("no device work fails, and memory suffices", breaches);
  row.breaks_by(Breach::kFailedWork, facts_.failed, ": failed");
  if (run_.outcome().without_memory || run_.is_incomplete()) {
    row.breaks(Breach::kShortage, "memory ran out");
  }
  check_limit(row);
  std::string evidence = options_.memory_limit_bytes == 0
                             ? "no limit of device memory"
                             : "all buffers together fit into the limit";
  if (facts_.failed_reads != 0) {
    evidence += "; " +
                count(facts_.failed_reads, "read of the host throws", "reads of the host throw") +
                " in every schedule";
  }
  return row.otherwise(std::move(evidence));
}

// Without a limit a device has room for everything, and the host, below 0, always has. With a
// limit, all buffers together must fit: the memory in use at a time depends on the schedule.
void Judgement::check_limit(Row& row) const {
  if (options_.memory_limit_bytes == 0) return;
  const auto exceeds = [&](const auto& device) {
    return device.first >= 0 && device.second > options_.memory_limit_bytes;
  };
  const auto full = std::ranges::find_if(facts_.allocated, exceeds);
  if (full == facts_.allocated.end()) return;
  row.breaks(Breach::kMemoryLimit, "the buffers of device " + std::to_string(full->first) +
                                       " have " + std::to_string(full->second) +
                                       " bytes in all, and the limit is " +
                                       std::to_string(options_.memory_limit_bytes));
}

Condition Judgement::declared_orders() {
  Row row("the order of reductions is declared", breaches);
  if (run_.drew_orders()) {
    row.breaks(Breach::kDrawnOrder, "the schedule drew an order: of a reduction");
  }
  return row.otherwise("the simulator adds in the order of replicas");
}

Condition Judgement::own_backend() {
  Row row("the body uses its backend alone", breaches);
  if (!run_.other_backends().empty()) {
    row.breaks(Breach::kSecondBackend, std::string(run_.other_backends()));
  }
  if (run_.used_threads()) {
    row.breaks(Breach::kSecondThread,
               "a second thread uses the backend, at a time that no schedule decides");
  }
  if (host_.second_thread) {
    row.breaks(Breach::kSecondThread,
               "a second thread runs in the time of the body, and no schedule decides when");
  }
  return row.otherwise("no use of a second backend");
}

Condition Judgement::no_draws() {
  Row row("the body draws no random values", breaches);
  if (!run_.draw().empty()) {
    row.breaks(Breach::kDraw, run_.draw() + ": draw before the exploration, and capture the value");
  }
  return row.otherwise("no draw");
}

}  // namespace

std::vector<Race> races_of(const BodyRun& run) {
  std::vector<Race> races = run.detector().races();
  const std::vector<Race>& of_events = run.detector().event_races();
  races.insert(races.end(), of_events.begin(), of_events.end());
  for (const watch::HostConflict& conflict : run.host().conflicts) {
    races.push_back(race_of(conflict));
  }
  return races;
}

std::vector<Condition> conditions_of(const BodyRun& run, const Options& options) {
  return Judgement(run, options).conditions;
}

void confirm_by_schedules(std::vector<Condition>& conditions, const Log& log) {
  conditions.front().evidence =
      "the judged schedule, the serial schedule, its reverse and 4 random schedules did the same " +
      operations(log) + ", with the same outcome";
}

void take_back_host_bytes(std::vector<Condition>& conditions) {
  const auto host_bytes = std::ranges::find(conditions, kHostBytes, &Condition::name);
  host_bytes->holds = false;
  host_bytes->evidence =
      "schedules differ, and no access of the run is the reason: an access is unseen";
}

std::vector<Breach> breaches_of(const BodyRun& run, const Options& options) {
  std::vector<Breach> breaches = Judgement(run, options).breaches;
  std::ranges::sort(breaches);
  const auto [first, last] = std::ranges::unique(breaches);
  breaches.erase(first, last);
  return breaches;
}

std::vector<std::string> notes_of(const BodyRun& run) {
  std::vector<std::string> notes;
  for (const watch::HostConflict& captured : run.host().single_writer_reads_in_merges) {
    notes.push_back("a captured value that was not reduced: " + to_string(captured.first.actor) +
                    " alone writes it at " + watch::source_line(captured.first) +
                    ", and a merge reads it at " + watch::source_line(captured.second));
  }
  for (const std::string& clock : run.host().clocks) {
    notes.push_back(
        "the clock " + clock +
        " is asked: a certificate says that runs with answers hours apart did the same");
  }
  for (const UnnamedMerges& line : unnamed_merges(run.log())) notes.push_back(to_string(line));
  return notes;
}

}  // namespace belfry::sim
