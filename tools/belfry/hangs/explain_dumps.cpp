// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "hangs/explain_dumps.h"

#include "hangs/dump_reader.h"
#include "trace/json_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace belfry::tool::hangs {
namespace {

std::string call_words(const Job& job, const CallId& call) {
  const Group& group = job.groups[call.group];
  if (call.seq == 0) return "a send or receive of " + group.words();
  const std::string part = call.part == 0 ? "" : fmt::format(", part {}", call.part + 1);
  return fmt::format("call {}{} of {}", call.seq, part, group.words());
}

std::string calls_words(const Job& job, const Finding& finding) {
  std::string text = call_words(job, *finding.call);
  for (const CallId& call : finding.more_calls) text += " and " + call_words(job, call);
  return text;
}

std::string pattern_words(const Job& job, const Divergence& divergence) {
  const std::string few = words(divergence.ranks);
  const std::string& kind = divergence.variants.front().entry->kind;
  const std::string next = call_words(job, {divergence.call.group, divergence.call.seq + 1, 0});
  switch (divergence.pattern) {
    case Pattern::kUnknown:
      return {};
    case Pattern::kLeftOut:
      return fmt::format("{} left the {} out, it seems: the others made the same call as {}", few,
                         kind, next);
    case Pattern::kAdded:
      return fmt::format("{} made a call more, it seems: the {} of the others is its {}", few, kind,
                         next);
    case Pattern::kSwapped:
      return fmt::format("{} made this call and {} in the other order", few, next);
  }
  return {};
}

// The sentence about a finding.
std::string headline(const Job& job, const Finding& finding) {
  const std::string ranks = words(finding.ranks);
  const std::string calls = calls_words(job, finding);
  const bool one = finding.ranks.size() == 1;
  switch (finding.kind) {
    case FindingKind::kDivergent:
      if (finding.is_tie) return fmt::format("{}: {} disagree", calls, ranks);
      return fmt::format("{}: {} {} another call than the others", calls, ranks,
                         one ? "makes" : "make");
    case FindingKind::kCircle:
      return fmt::format("a circle of waits over {}{}", calls,
                         finding.is_tie ? "" : "; the order is another on " + ranks);
    case FindingKind::kFailed:
      return fmt::format("{}: {} failed before, and the others wait", calls, ranks);
    case FindingKind::kEnded:
      return fmt::format("{}: {} ended without it, and the others wait", calls, ranks);
    case FindingKind::kNoDump:
      return fmt::format("{}: the others wait for {}, without a dump", calls, ranks);
    case FindingKind::kBehind:
      return fmt::format("{}: the others wait for {}", calls, ranks);
    case FindingKind::kStalled:
      return fmt::format("{}: all members have reached it, and {} {} in it", calls, ranks,
                         one ? "waits" : "wait");
  }
  return {};
}

// The evidence of the finding, and the open questions.
std::vector<std::string> details(const Job& job, const Finding& finding) {
  std::vector<std::string> lines;
  if (finding.divergence.has_value()) {
    const Divergence& divergence = *finding.divergence;
    for (const Variant& variant : divergence.variants) {
      lines.push_back(words(variant.ranks) + ": " + words(*variant.entry));
    }
    lines.push_back("the calls differ in their " + to_string(divergence.what));
    const std::string pattern = pattern_words(job, divergence);
    if (!pattern.empty()) lines.push_back(pattern);
    if (divergence.may_be_earlier) {
      lines.push_back("an earlier call may differ: the rings have none to compare");
    }
  }
  for (const Wait& wait : finding.circle) {
    lines.push_back(fmt::format("rank {} waits for rank {} in {}: {}", wait.rank, wait.for_rank,
                                call_words(job, wait.call), words(*wait.entry)));
  }
  if (finding.kind == FindingKind::kNoDump) {
    lines.push_back("the rank crashed or was killed, or its dump was not given");
  } else if (finding.kind == FindingKind::kBehind) {
    lines.push_back("slow, waiting outside of the calls, or without this call: dumps do not tell");
  } else if (finding.kind == FindingKind::kStalled) {
    lines.push_back("a slow device or link, or a property that dumps do not have: not to be told");
  }
  for (const Dump& dump : job.dumps) {
    const bool named = std::binary_search(finding.ranks.begin(), finding.ranks.end(), dump.rank);
    if (!named || dump.where.empty() + dump.error.empty() == 2) continue;
    lines.push_back(fmt::format("the host of rank {} was last in {}{}{}", dump.rank,
                                dump.where.empty() ? "an unknown place" : dump.where,
                                dump.error.empty() ? "" : ": ", dump.error));
  }
  return lines;
}

// The places of the ranks: a line for each place.
std::vector<std::string> places(const Job& job, const Waits& waits) {
  std::vector<std::pair<std::string, std::vector<int>>> places;
  for (std::size_t i = 0; i < job.dumps.size(); ++i) {
    const Dump& dump = job.dumps[i];
    const std::vector<const Entry*>& open = waits.open(dump.rank);
    std::string place = "no open call";
    if (!open.empty() || !dump.entries.empty()) {
      const Entry& entry = open.empty() ? dump.entries.back() : *open.front();
      place = fmt::format(
          "{} {}: {}", open.empty() ? "no open call; the last is" : "in",
          call_words(job, job.calls[i][static_cast<std::size_t>(&entry - dump.entries.data())]),
          words(entry));
    }
    const auto same = std::find_if(places.begin(), places.end(),
                                   [&](const auto& other) { return other.first == place; });
    if (same == places.end())
      places.push_back({place, {dump.rank}});
    else
      same->second.push_back(dump.rank);
  }
  std::vector<std::string> lines;
  for (const auto& [place, ranks] : places) lines.push_back(words(ranks) + ": " + place);
  return lines;
}

std::string first_line(const Job& job) {
  std::size_t operations = 0;
  bool ours = false;
  for (const Dump& dump : job.dumps) {
    operations += dump.entries.size();
    ours |= dump.ours;
  }
  return fmt::format("{} dumps of {} recorder, of {} ranks: {} operations in {} {}",
                     job.dumps.size(), ours ? "belfry's" : "PyTorch's", job.ranks, operations,
                     job.groups.size(), job.groups.size() == 1 ? "group" : "groups");
}

std::string json_of(const Job& job, const CallId& call) {
  return JsonObject()
      .text("group", job.groups[call.group].name)
      .number("call", call.seq)
      .number("part", static_cast<std::int64_t>(call.part))
      .str();
}

std::string json_of(const Job& job, const Finding& finding) {
  std::vector<std::string> calls = {json_of(job, *finding.call)};
  for (const CallId& call : finding.more_calls) calls.push_back(json_of(job, call));
  std::vector<std::string> ranks;
  for (const int rank : finding.ranks) ranks.push_back(std::to_string(rank));
  JsonObject object;
  object.text("kind", to_string(finding.kind))
      .text("text", headline(job, finding))
      .list("calls", calls)
      .list("ranks", ranks)
      .flag("tie", finding.is_tie)
      .texts("details", details(job, finding));
  if (finding.divergence.has_value()) object.text("differ_in", to_string(finding.divergence->what));
  return object.str();
}

std::string json_of(const Job& job, const Waits& waits, const Hang& hang) {
  const auto list = [&](const std::vector<Finding>& findings) {
    std::vector<std::string> objects;
    for (const Finding& finding : findings) objects.push_back(json_of(job, finding));
    return objects;
  };
  constexpr const char* kVerdicts[] = {"named", "undecided", "nothing"};
  return JsonObject()
      .number("belfry_tool", 1)
      .text("command", "explain")
      .text("verdict", kVerdicts[static_cast<int>(hang.verdict)])
      .list("causes", list(hang.causes))
      .list("more", list(hang.more))
      .texts("places", places(job, waits))
      .texts("notes", hang.notes)
      .str();
}

void print(const Job& job, const Waits& waits, const Hang& hang, Console& console) {
  console.line(first_line(job));
  if (hang.verdict == Verdict::kNothing) console.verdict(true, "no rank waits in a call");
  for (const Finding& cause : hang.causes) {
    const std::string text = headline(job, cause);
    if (hang.verdict == Verdict::kNamed)
      console.verdict(false, text);
    else
      console.result("undecided: " + text);
    for (const std::string& line : details(job, cause)) console.line("  " + line);
  }
  if (!hang.more.empty()) console.heading("What may follow from it");
  for (const Finding& finding : hang.more) {
    console.line("  " + headline(job, finding));
    for (const std::string& line : details(job, finding)) console.line("    " + line);
  }
  console.heading("Where the ranks are");
  for (const std::string& place : places(job, waits)) console.line("  " + place);
  for (const std::string& note : hang.notes) console.line("note: " + note);
}

}  // namespace

ExitCode explain_job(const Job& job, bool json, Console& console) {
  const Waits waits(job);
  const Hang hang = hang_of(job, waits);
  if (json)
    console.result(json_of(job, waits, hang));
  else
    print(job, waits, hang, console);
  return hang.verdict == Verdict::kNothing ? ExitCode::kGood : ExitCode::kMismatch;
}

ExitCode explain_dumps(const std::vector<std::string>& files, bool json, Console& console) {
  return explain_job(Job(read_dumps(files)), json, console);
}

}  // namespace belfry::tool::hangs
