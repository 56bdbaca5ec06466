// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/replica_programs.h"

#include <sstream>

namespace belfry::testing {
namespace {

const char* deviation_text(Deviation deviation) {
  constexpr const char* kTexts[] = {"",
                                    " with one element more",
                                    " with the other operator",
                                    " with another function",
                                    " with another type",
                                    " replaced by a throw",
                                    " whose merge throws",
                                    " whose update throws"};
  return kTexts[static_cast<int>(deviation)];
}

void print(std::ostream& out, const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    out << "\n  line " << step.site << ": " << to_string(step.kind) << " by " << step.amount
        << (step.residence == Residence::kHost ? " on the host" : " on devices")
        << deviation_text(step.deviation);
  }
}

void print(std::ostream& out, const char* name, const std::vector<float>& row) {
  out << ' ' << name << '[';
  for (float x : row) out << x << ' ';
  out << ']';
}

}  // namespace

std::string to_string(StepKind kind) {
  constexpr const char* kNames[kNumStepKinds] = {
      "compute",    "read mirrored",   "write local",     "merge sum",        "merge in order",
      "all_reduce", "all_reduce mean", "all_reduce nest", "update",           "nested run",
      "broadcast",  "assign sum",      "assign mean",     "assign only-first"};
  return kNames[static_cast<int>(kind)];
}

std::string to_string(const ReplicaProgram& program) {
  std::ostringstream out;
  out << "rows of " << program.length << ", every replica:";
  print(out, program.rounds);
  for (const auto& [replica, steps] : program.exceptions) {
    out << "\n but replica " << replica << ':';
    print(out, steps);
  }
  return out.str();
}

std::string to_string(const Outcome& outcome) {
  std::ostringstream out;
  if (outcome.failed) {
    out << "failed with " << to_string(outcome.code) << ", thrown by " << outcome.thrower << " at";
    for (const auto& [replica, line] : outcome.places) out << ' ' << replica << ':' << line;
  }
  out << "\n merges:";
  for (int site : outcome.merge_sites) out << ' ' << site;
  const MirroredValues& m = outcome.mirrored;
  out << "\n mirrored" << (m.agree ? "" : " (components differ)") << ':';
  print(out, "host", m.host);
  print(out, "tensor", m.tensor);
  print(out, "by sum", m.by_sum);
  print(out, "by mean", m.by_mean);
  print(out, "by first", m.by_first);
  for (std::size_t r = 0; r < outcome.replicas.size(); ++r) {
    out << "\n replica " << r << ':';
    print(out, "local", outcome.replicas[r].local);
    for (const auto& row : outcome.replicas[r].rows) print(out, "row", row);
  }
  return out.str();
}

const std::vector<Step>& ReplicaProgram::steps_of(int replica) const {
  for (const auto& [id, steps] : exceptions) {
    if (id == replica) return steps;
  }
  return rounds;
}

}  // namespace belfry::testing
