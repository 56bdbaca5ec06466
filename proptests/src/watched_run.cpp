// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Values of logs, for runs whose merges took the functions of different replicas. Hashes of logs
// may differ although all values are equal: a captured tensor lies on the device of its replica,
// and a function of another replica makes copies elsewhere, waits for other events, and shifts all
// later choices of a random schedule. The comparison takes the values alone.
#include "watched_run.h"

#include "belfry/error.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace belfry::testing {
namespace {

std::uint64_t chain(std::uint64_t digest, std::uint64_t word) {
  return (std::rotl(digest, 29) ^ word) * 0x9E3779B97F4A7C15u;
}

void finish(sim::Backend& backend) {
  for (const sim::DeviceMemoryReport& used : backend.memory_report()) {
    Device& device = backend.device(used.device);
    for (Stream* stream : {&device.compute_stream(), &device.communication_stream()}) {
      try {
        stream->synchronize();
      } catch (const Error& failure) {
        static_cast<void>(failure);  // Failed work is the body's concern, and has no digest.
      }
    }
  }
}

// The log of a backend, cut at its merges.
class Parts {
 public:
  explicit Parts(const sim::Log& log) : sites_(log.merge_sites()), parts_(1) {
    for (const sim::LogRecord& record : log.records()) add(record);
    std::set<std::uint64_t> known;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      for (const std::uint64_t digest : digests_[i]) {
        if (known.insert(digest).second) parts_[i].first_written.insert(digest);
      }
    }
  }

  std::vector<MergeValues> take() { return std::move(parts_); }

 private:
  // A stream and the number of a command.
  using Work = std::pair<std::uint64_t, std::uint64_t>;

  void add(const sim::LogRecord& record) {
    MergeValues& part = parts_.back();
    switch (record.kind) {
      case OperationKind::kMerge:
        parts_.push_back(
            {.site = sites_[parts_.size() - 1], .round = record.subject, .run = record.value});
        return;
      case OperationKind::kHostValue:
      case OperationKind::kArrive:
      case OperationKind::kEnd:
      case OperationKind::kThrow: {
        std::uint64_t& digest = part.agents[record.agent()];
        digest = chain(digest, static_cast<std::uint64_t>(record.kind) + 1);
        digest = chain(chain(digest, record.subject), record.value);
        return;
      }
      case OperationKind::kHostRead:
        part.host_reads += chain(chain(1, record.subject), record.value);
        return;
      case OperationKind::kEnqueue:
        enqueued_[{record.value, record.subject}] = parts_.size() - 1;
        return;
      case OperationKind::kExecute:
      case OperationKind::kCollective: {
        const Work work(static_cast<std::uint64_t>(record.agent_index), record.subject);
        if (record.value != 0) digests_[enqueued_[work]].insert(record.value);
        return;
      }
      default:
        return;
    }
  }

  const std::vector<CallSite>& sites_;
  std::vector<MergeValues> parts_;
  // Streams are lazy: work belongs to the part that enqueued the work.
  std::map<Work, std::size_t> enqueued_;
  std::map<std::size_t, std::set<std::uint64_t>> digests_;
};

}  // namespace

sim::Options watched_options(const sim::Options& options, int functions_of) {
  sim::Options watched = options;
  watched.record = true;
  watched.digests = sim::Digests::kAll;
  watched.record_limit = std::max(watched.record_limit, std::size_t{1} << 20);
  watched.functions_of = functions_of;
  watched.check_kernels = true;
  return watched;
}

void add_log(sim::Backend& backend, WatchedRun& run, CallSite site) {
  finish(backend);
  const sim::Log& log = backend.log();
  if (log.dropped() > 0) {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument,
        "the body has " + std::to_string(log.size()) + " operations, of which " +
            std::to_string(log.records().size()) + " are kept: the rest cannot be compared",
        "raise Options::record_limit, or let the body take fewer steps", site);
  }
  for (MergeValues& part : Parts(log).take()) run.parts.push_back(std::move(part));
}

std::optional<std::size_t> first_difference(const WatchedRun& a, const WatchedRun& b) {
  const auto [first, second] = std::ranges::mismatch(
      a.parts, b.parts,
      [](const MergeValues& x, const MergeValues& y) { return x.same_values(y); });
  if (first == a.parts.end() && second == b.parts.end()) return std::nullopt;
  return static_cast<std::size_t>(first - a.parts.begin());
}

}  // namespace belfry::testing
