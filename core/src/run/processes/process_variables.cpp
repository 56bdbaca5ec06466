// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Variables of several processes: the first value, and the comparison of mirrored components.
#include "belfry/detail/initial_value.h"
#include "belfry/detail/merge_point.h"
#include "belfry/detail/mirrored_check.h"
#include "belfry/error.h"
#include "run/rounds/rendezvous.h"

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

// The words of a process about a variable, and the value of process 0.
struct Asked {
  std::string words;
  std::string type;  // As the compiler writes the type of the variable.
  std::string structure;
  std::uint64_t digest = 0;
  std::span<const std::byte> value;

  // An initialiser has no structure before the call.
  std::string text() const {
    return words + "," + (structure.empty() ? " of " + types_in(type) : structure);
  }
};

Asked asked(const Bytes& message) {
  ByteReader in(message);
  Asked asked;
  asked.words = in.text();
  asked.type = in.text();
  asked.structure = in.text();
  asked.digest = in.get<std::uint64_t>();
  asked.value = in.rest();
  return asked;
}

// The requests of all processes: `words` of each process.
struct AskedByAll {
  std::vector<std::string> words;
  bool same_words = true;
  bool same_values = true;
};

// Compares with the message of the usual maker, or of the first process of the run.
AskedByAll compare(const std::vector<Bytes>& sent, std::size_t usual) {
  AskedByAll all;
  std::optional<Asked> first;
  if (!sent[usual].empty()) first = asked(sent[usual]);
  for (const Bytes& message : sent) {
    if (message.empty()) {
      all.words.emplace_back("takes no part in the run");
      continue;
    }
    const Asked other = asked(message);
    if (!first) first = other;
    // An initialiser has no structure and no digest before the call.
    const bool both_known = first->digest != 0 && other.digest != 0;
    const bool both_described = !first->structure.empty() && !other.structure.empty();
    all.same_words = all.same_words && other.words == first->words && other.type == first->type &&
                     (!both_described || other.structure == first->structure);
    all.same_values = all.same_values && (!both_known || other.digest == first->digest);
    all.words.push_back(other.text());
  }
  return all;
}

// The processes in words, with the process of each.
[[noreturn]] void throw_with_processes(ErrorReport report, std::vector<std::string> texts,
                                       CallSite site) {
  for (std::size_t process = 0; process < texts.size(); ++process) {
    ReplicaReport part;
    part.site = site;
    part.what = std::move(texts[process]);
    part.process = static_cast<int>(process);
    report.replicas.push_back(std::move(part));
  }
  throw VariableMismatchError(std::move(report));
}

}  // namespace

Bytes agree_on_variable(StrategyCore& core, const VariableRequest& request, std::string_view type,
                        const Bytes& value) {
  ByteWriter out;
  out.text(words_of(request));
  out.text(type);
  out.text(request.structure.value_or(""));
  out.put(request.host_digest);
  out.add(value.data(), value.size());
  const std::vector<Bytes> sent = core.members().exchange(kVariable, request.site, out.bytes());
  const auto usual = static_cast<std::size_t>(core.members().process_of(0));
  AskedByAll all = compare(sent, usual);
  if (all.same_words && all.same_values) {
    if (sent[usual].empty()) return {};  // The process listens.
    const std::span<const std::byte> first = asked(sent[usual]).value;
    return {first.begin(), first.end()};
  }
  ErrorReport report;
  report.code = ErrorCode::kVariableMismatch;
  report.site = request.site;
  if (!all.same_words) {
    report.summary = "processes made different variables at one place";
    report.expected = "the same type, name, kind, aggregation and structure in every process";
    report.hint = "make the same variables in the same order in every process";
  } else {
    report.summary = "processes gave one variable different first values";
    report.expected = "the same first value in every process";
    report.hint =
        "hand over a function instead of a value: it is called in the process of replica 0 alone";
  }
  throw_with_processes(std::move(report), std::move(all.words), request.site);
}

bool describe_one_variable(const std::vector<Bytes>& messages, std::size_t usual) {
  const AskedByAll all = compare(messages, usual);
  return all.same_words && all.same_values;
}

std::int64_t digest_of(const AnyTensor& tensor) {
  if (tensor.empty()) return 0;
  std::vector<std::uint8_t> bytes(tensor.bytes());
  tensor.read(bytes.data());
  HostDigest digest;
  digest.add(bytes);
  return static_cast<std::int64_t>(digest.value());
}

void require_mirrored_in_processes(StrategyCore& core, FunctionRef<MirrorWords()> words,
                                   const ProcessComparison& compared, CallSite site) {
  const VariableInfo& info = compared.info;
  const auto write = [&words](ByteWriter& out) {
    const MirrorWords own = words();
    out.text(own.structure);
    out.put(own.digest);
  };
  const std::vector<Bytes> different =
      core.members().exchange_to_compare(compared.verb, site, write);
  if (different.empty()) return;
  std::vector<std::string> texts;
  for (const Bytes& message : different) {
    if (message.empty()) {
      texts.emplace_back("takes no part in the run");
      continue;
    }
    ByteReader in(message);
    std::string text = "has" + in.text();
    texts.push_back(std::move(text) + ", digest of the values " +
                    std::to_string(in.get<std::uint64_t>()));
  }
  ErrorReport report;
  report.code = ErrorCode::kMirroredDiverged;
  report.summary =
      compared.is_total
          ? "the totals that are assigned to " + info.name + " differ between processes"
          : "the components of mirrored " + info.name + " differ between processes";
  report.site = site;
  report.expected = compared.is_total ? "the same total in every process"
                                      : "an update that does the same in every process";
  report.hint =
      "reduce the values of the replicas first: a merge function sees the values of the "
      "replicas of its process alone; " +
      info.name + " was made at " + to_string(info.created);
  throw_with_processes(std::move(report), std::move(texts), site);
}

}  // namespace belfry::detail
