// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/conditions.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace belfry::sim {
namespace {

std::string count(std::uint64_t number, std::string_view unit, std::string_view units) {
  return std::to_string(number) + ' ' + std::string(number == 1 ? unit : units);
}

Condition holds(std::string name, std::string evidence) {
  return {std::move(name), true, std::move(evidence)};
}

// A condition that holds unless a fact is against it.
Condition unless(std::string name, const RunFacts::First& against, std::string_view reason,
                 std::string evidence) {
  if (!against) return holds(std::move(name), std::move(evidence));
  return {std::move(name), false, *against + ": " + std::string(reason)};
}

RaceSide side_of(const watch::HostAccess& access) {
  return {.agent = to_string(access.actor),
          .operation = access.of_kernel ? "a kernel" : "the code",
          .writes = access.write,
          .place = watch::source_line(access)};
}

Race race_of(const watch::HostConflict& conflict) {
  return {side_of(conflict.first), side_of(conflict.second),
          count(conflict.bytes, "byte", "bytes") + " of host memory",
          "no merge, and no begin or end of a run, is between"};
}

Condition repeats(const BodyRun& run) {
  const std::string name = "the body repeats";
  if (!run.is_recorded()) {
    return {name, false,
            "the run has more operations or choices than are kept: raise Options::record_limit"};
  }
  return holds(name, "two runs of one schedule did the same " +
                         count(run.log().size(), "operation", "operations") +
                         ", with the same outcome");
}

Condition device_bytes(const BodyRun& run, const Options& options) {
  const std::string name = "device bytes have an order";
  const RunFacts& facts = run.facts();
  if (!run.detector().races().empty()) {
    return {name, false,
            count(run.detector().races().size(), "pair of accesses has", "pairs of accesses have") +
                " no order"};
  }
  if (run.detector().nests_in_replica()) {
    return {name, false, "a replica began a run: orders are known for runs of callers and merges"};
  }
  if (facts.foreign) return {name, false, *facts.foreign + ": is memory of the program, too"};
  if (facts.user_kernel && !options.check_kernels) {
    return {name, false,
            *facts.user_kernel +
                ": is a kernel with accesses that nobody compares with its "
                "declaration; set Options::check_kernels"};
  }
  return holds(name, count(facts.work, "piece of work", "pieces of work"));
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

Condition host_bytes(const BodyRun& run, const Options& options) {
  const std::string name = "replicas share no host bytes that one of them writes";
  const watch::HostReport& host = run.host();
  if (run.is_nested()) {
    return {name, false, "an exploration in the body of an exploration watches no host memory"};
  }
  if (!watch::linked()) {
    return {name, false, "no code is watched: write belfry_watch(target) in CMakeLists.txt"};
  }
  if (run.facts().runs != 0 && host.accesses == 0) {
    return {name, false, "no replica ran watched code: write belfry_watch(target) for its target"};
  }
  if (!host.conflicts.empty()) {
    return {name, false,
            count(host.conflicts.size(), "pair of accesses", "pairs of accesses") +
                " to the same bytes, between the same merges"};
  }
  if (!host.unseen.empty()) {
    std::string unseen = "accesses may be unseen in: ";
    for (const std::string& reason : host.unseen) unseen += reason + "; ";
    return {name, false, unseen + "vouch for functions with belfry_watch(target VOUCH ...)"};
  }
  if (run.facts().user_kernel && !options.check_kernels) {
    return {name, false,
            *run.facts().user_kernel +
                ": is a kernel whose body is watched with Options::check_kernels alone"};
  }
  if (host.kernel_access) return {name, false, text_of(*host.kernel_access)};
  return holds(name, count(host.accesses, "access", "accesses") + " of replicas");
}

Condition blindness(const BodyRun& run) {
  const std::string name = "nothing asks for the progress of agents";
  const watch::HostReport& host = run.host();
  if (run.facts().asked) return {name, false, *run.facts().asked};
  if (host.used_locks) return {name, false, "a replica uses a lock, whose order is the schedule's"};
  if (host.used_atomics) return {name, false, "a replica uses an atomic object"};
  if (host.shared_last_owner) {
    return {name, false, "replicas share an object, and the last owner ends the object"};
  }
  return holds(name, "no query, no look at log or memory, no lock, no atomic object");
}

Condition events(const BodyRun& run) {
  const std::string name = "events have an order";
  const std::vector<Race>& races = run.detector().event_races();
  if (!races.empty()) return {name, false, to_string(races.front())};
  return holds(name, count(run.facts().event_uses, "record or wait", "records and waits"));
}

// Without a limit a device has room for everything. With a limit, all buffers together must fit:
// the memory in use at a time depends on the schedule.
Condition no_failures(const BodyRun& run, const Options& options) {
  const std::string name = "no device work fails, and memory suffices";
  const RunFacts& facts = run.facts();
  if (facts.failed) return {name, false, *facts.failed + ": failed"};
  if (run.outcome().without_memory || run.is_incomplete()) return {name, false, "memory ran out"};
  const auto exceeds = [&](const auto& device) {
    return device.second > options.memory_limit_bytes;
  };
  const auto full = std::ranges::find_if(facts.allocated, exceeds);
  if (options.memory_limit_bytes != 0 && full != facts.allocated.end()) {
    return {name, false,
            "the buffers of device " + std::to_string(full->first) + " have " +
                std::to_string(full->second) + " bytes in all, and the limit is " +
                std::to_string(options.memory_limit_bytes)};
  }
  return holds(name, options.memory_limit_bytes == 0 ? "no limit of device memory"
                                                     : "all buffers together fit into the limit");
}

Condition own_backend(const BodyRun& run) {
  const std::string name = "the body uses its backend alone";
  if (!run.other_backends().empty()) return {name, false, std::string(run.other_backends())};
  if (run.used_threads()) {
    return {name, false, "a second thread uses the backend, at a time that no schedule decides"};
  }
  return holds(name, "no use of a second backend");
}

Condition no_draws(const BodyRun& run) {
  const std::string name = "the body draws no random values";
  if (!run.draw().empty()) {
    return {name, false, run.draw() + ": draw before the exploration, and capture the value"};
  }
  return holds(name, "no draw");
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
  const RunFacts::First orders =
      run.drew_orders() ? RunFacts::First("the schedule drew an order") : std::nullopt;
  return {repeats(run),
          device_bytes(run, options),
          host_bytes(run, options),
          blindness(run),
          events(run),
          no_failures(run, options),
          unless("the order of reductions is declared", orders, "of a reduction",
                 "the simulator adds in the order of replicas"),
          own_backend(run),
          no_draws(run)};
}

std::vector<std::string> notes_of(const BodyRun& run) {
  std::vector<std::string> notes;
  for (const watch::HostConflict& captured : run.host().single_writer_reads_in_merges) {
    notes.push_back("a captured value that was not reduced: " + to_string(captured.first.actor) +
                    " alone writes it at " + watch::source_line(captured.first) +
                    ", and a merge reads it at " + watch::source_line(captured.second));
  }
  return notes;
}

}  // namespace belfry::sim
