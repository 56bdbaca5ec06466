// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/verdict.h"

#include "belfry/sim/body_result.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace belfry::sim {
namespace {

std::string meaning_of(const VerdictReport& report) {
  const std::string schedules =
      std::to_string(report.schedules) + (report.schedules == 1 ? " schedule" : " schedules");
  switch (report.level) {
    case VerdictLevel::kNone:
      return "a schedule alone does not decide the run";
    case VerdictLevel::kSampled:
      return schedules + " ran, with the same outcome; a certificate needs every condition";
    case VerdictLevel::kRefuted:
      return "two schedules differ";
    case VerdictLevel::kRacy:
      return "accesses without an order; " + schedules + " ran, with the same outcome";
    case VerdictLevel::kCertified:
      return "every schedule has this outcome";
  }
  return {};
}

constexpr std::size_t kTold = 16;

// The departures of a refuting schedule, the first ones in words.
std::string text_of_departures(const std::vector<std::string>& departures) {
  if (departures.empty()) return "  the serial schedule\n";
  std::string text;
  for (std::size_t i = 0; i < departures.size() && i < kTold; ++i) {
    text += "  " + departures[i] + '\n';
  }
  if (departures.size() <= kTold) return text;
  return text + "  and " + std::to_string(departures.size() - kTold) + " further departures\n";
}

// Whether schedules with a difference have outcomes of one text: the operations differ, or a part
// that the text leaves out.
bool have_one_text(const VerdictReport& report) {
  return report.outcomes.size() == 2 && report.outcomes[0].outcome == report.outcomes[1].outcome &&
         report.outcomes[0].threw == report.outcomes[1].threw;
}

std::string token_of(const ScheduleOutcome& outcome) {
  return outcome.token.empty() ? "too long for a token" : outcome.token;
}

std::string text_of_outcomes(const VerdictReport& report) {
  const bool told = !std::ranges::all_of(
      report.outcomes, [](const ScheduleOutcome& outcome) { return outcome.departures.empty(); });
  const bool one_text = have_one_text(report);
  std::string text = one_text ? "in both: " + report.outcomes[0].outcome + '\n' : std::string();
  for (const ScheduleOutcome& outcome : report.outcomes) {
    text += (one_text ? "replay " + token_of(outcome) : to_string(outcome)) + '\n';
    if (told) text += text_of_departures(outcome.departures);
  }
  return text;
}

constexpr std::string_view kNames =
    "names: H0 is the code outside of replicas, R1 the replica 1, M0 a merge function, S2 a "
    "stream; "
    "byte ranges end before their second number\n";

constexpr std::string_view kAboutOrders =
    "a certificate is about orders: the outcome is the same in each, and may be wrong in all; "
    "compare with one replica, or with values worked out by hand\n";

std::string text_of_missed(const std::vector<std::string>& missed) {
  std::string text;
  for (const std::string& access : missed) text += (text.empty() ? "" : "; ") + access;
  return text.empty() ? text
                      : "the watch of this compiler does not see: " + text +
                            " (an effect on one of the schedules that ran would be REFUTED)\n";
}

constexpr std::string_view kLimits =
    "not covered: further inputs; code that is not watched; prints and files of replicas; further "
    "backends, carriers and processes\n";

}  // namespace

std::string detail::number_text(double number) {
  char text[32];
  const std::to_chars_result end = std::to_chars(text, text + sizeof(text), number);
  return {text, end.ptr};
}

const char* to_string(VerdictLevel level) {
  switch (level) {
    case VerdictLevel::kNone:
      return "NONE";
    case VerdictLevel::kSampled:
      return "SAMPLED";
    case VerdictLevel::kRefuted:
      return "REFUTED";
    case VerdictLevel::kRacy:
      return "RACY";
    case VerdictLevel::kCertified:
      return "CERTIFIED";
  }
  return "?";
}

std::string to_string(const Condition& condition) {
  return (condition.holds ? "holds: " : "not met: ") + condition.name + " (" + condition.evidence +
         ')';
}

std::string to_string(const ScheduleOutcome& outcome) {
  return outcome.outcome + ", replay " + token_of(outcome);
}

std::string to_string(const VerdictReport& report) {
  std::string text = to_string(report.level);
  if (report.level == VerdictLevel::kSampled) text += '(' + std::to_string(report.schedules) + ')';
  return text;
}

Verdict::Verdict(VerdictReport report) : report_(std::move(report)) {
  for (const ScheduleOutcome& outcome : report_.outcomes) tokens_.push_back(outcome.token);
}

std::string to_string(const Verdict& verdict) { return to_string(verdict.report()); }

std::string explain(const Verdict& verdict) {
  const VerdictReport& report = verdict.report();
  std::string text = to_string(report) + ": " + meaning_of(report) + '\n';
  if (!report.difference.empty()) text += report.difference + '\n';
  text += text_of_outcomes(report);
  for (const Race& race : report.races) text += to_string(race) + '\n';
  if (!report.races.empty()) text += kNames;
  for (const Condition& condition : report.conditions) text += to_string(condition) + '\n';
  for (const std::string& note : report.notes) text += "note: " + note + '\n';
  text += text_of_missed(report.missed);
  if (report.level == VerdictLevel::kCertified) text += kAboutOrders;
  return text + std::string(kLimits);
}

}  // namespace belfry::sim
