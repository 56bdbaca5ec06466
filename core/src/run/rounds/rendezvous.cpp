// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/rounds/rendezvous.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace belfry::detail {
namespace {

bool same_literals(const CallSite& a, const CallSite& b) {
  return a.line == b.line && a.file == b.file;
}

bool meets(const MergeRequest& a, const MergeRequest& b) {
  if (a.type != b.type || a.identity != b.identity) return false;
  if (a.tag == nullptr && b.tag == nullptr && same_literals(a.site, b.site)) [[likely]] {
    return true;
  }
  if (a.tag != nullptr && b.tag != nullptr) return a.tag->name == b.tag->name;
  if (a.tag != nullptr || b.tag != nullptr) return false;
  return same_place(a.site, b.site);
}

const MergeRequest& request_of(const std::vector<MergeRequest*>& requests,
                               const Participants& present, int position) {
  return *requests[static_cast<std::size_t>(present.id(position))];
}

// Replicas that meet are usually at the same line of the same program: this test needs no call.
bool all_equal(const std::vector<MergeRequest*>& requests) {
  const MergeRequest& first = *requests.front();
  for (const MergeRequest* other : std::span(requests).subspan(1)) {
    if (other->type != first.type || other->identity != first.identity || other->tag != first.tag ||
        !same_literals(other->site, first.site)) {
      return false;
    }
  }
  return true;
}

// The position of the first participant with a request that does not meet the request of the first
// participant. Without such a request, the number of participants. Apart, for the usual path needs
// no stack then.
[[gnu::noinline]] int first_stranger(const std::vector<MergeRequest*>& requests,
                                     const Participants& present) {
  const MergeRequest& first = request_of(requests, present, 0);
  const int count = present.count();
  int position = 1;
  while (position < count && meets(first, request_of(requests, present, position))) ++position;
  return position;
}

// The types of the user's arguments. An exchange brings ExchangeArgs as the last.
std::string types_of(const MergeRequest& request) {
  std::string types = types_in(request.type->types);
  if (types.ends_with("ExchangeArgs")) types.erase(types.rfind(", "));
  return "(" + types + ")";
}

const char* hint_for_places(MergeKind kind) {
  return kind == MergeKind::kMergeCall
             ? "take the branch inside the merge function, or name the call with a MergeTag"
             : "choose the value in the branches and call once after them, or name the call with a "
               "MergeTag";
}

enum class Difference { kKind, kName, kPlace, kChange, kFunction, kFunctionTypes, kTypes };

// Kinds before places before types: the first difference explains the most.
Difference difference(const MergeRequest& first, const MergeRequest& other) {
  if (first.type->kind != other.type->kind) return Difference::kKind;
  if (!meets({first.type, first.site, first.tag, nullptr},
             {first.type, other.site, other.tag, nullptr})) {
    return first.tag != nullptr && other.tag != nullptr ? Difference::kName : Difference::kPlace;
  }
  // The types of a request are those of its arguments and of its function.
  if (first.type != other.type) {
    const bool same_arguments = std::string_view(first.type->types) == other.type->types;
    return same_arguments ? Difference::kFunctionTypes : Difference::kTypes;
  }
  return first.type->describe != nullptr ? Difference::kChange : Difference::kFunction;
}

ErrorReport explain(Difference difference, const MergeRequest& first) {
  ErrorReport report;
  report.code = ErrorCode::kMergePlaces;
  switch (difference) {
    case Difference::kKind:
      report.code = ErrorCode::kMergeKinds;
      report.summary = "replicas wait in different kinds of merge";
      report.expected = std::string("every replica in ") + to_string(first.type->kind);
      break;
    case Difference::kName:
      report.summary = "replicas wait in merges with different names";
      report.expected = "the same MergeTag on every replica, in the same order";
      report.hint =
          "go through the names in one order on every replica, or bring all values in one call, as "
          "a std::map";
      break;
    case Difference::kPlace:
      report.summary = "replicas wait at different places";
      report.expected = "every replica at the same call, in the same order";
      report.hint = hint_for_places(first.type->kind);
      break;
    case Difference::kChange:
      report.summary = "replicas change different variables, or one in different ways";
      report.expected = "the same change of the same variable by every replica";
      report.hint = "choose the variable and the operation outside the replica function";
      break;
    case Difference::kFunction:
      report.summary = "replicas passed different functions to one merge";
      report.expected = "the same function from every replica";
      report.hint = "take the branch inside the merge function";
      break;
    case Difference::kFunctionTypes:
      report.code = ErrorCode::kMergeTypes;
      report.summary = "replicas passed functions of different types to one merge";
      report.expected = "a function of one type from every replica";
      report.hint =
          "make the function once, outside code that is compiled anew for each type: a lambda in a "
          "template or a generic lambda has a type for each instantiation";
      break;
    case Difference::kTypes:
      report.code = ErrorCode::kMergeTypes;
      report.summary = "replicas brought arguments of different types to one merge";
      report.expected = "arguments of the same types from every replica";
      report.hint = "convert the values before the merge";
      break;
  }
  return report;
}

// `first` is the request of the first participant.
std::string describe(Difference difference, const MergeRequest& first,
                     const MergeRequest& request) {
  std::string text = "waits in " + name_of(request);
  if (request.type->describe != nullptr) text += ": " + request.type->describe(request);
  if (difference == Difference::kTypes) text += " with " + types_of(request);
  if (difference == Difference::kFunction) {
    text += request.identity == first.identity ? " with one function" : " with another";
  }
  return text;
}

}  // namespace

const char* to_string(MergeKind kind) {
  switch (kind) {
    case MergeKind::kMergeCall:
      return "merge_call";
    case MergeKind::kAllReduce:
      return "all_reduce";
    case MergeKind::kAllGather:
      return "all_gather";
    case MergeKind::kAssign:
      return "assign";
    case MergeKind::kScatter:
      return "scatter";
    case MergeKind::kReduceScatter:
      return "reduce_scatter";
    case MergeKind::kAllToAll:
      return "all_to_all";
    case MergeKind::kBroadcast:
      return "broadcast";
    case MergeKind::kPermute:
      return "permute";
    case MergeKind::kScatterFrom:
      return "scatter_from";
    case MergeKind::kGatherTo:
      return "gather_to";
  }
  return "?";
}

std::string text_of(const MergeTag* tag) {
  return tag == nullptr ? std::string() : " " + to_string(*tag);
}

// Behind `T = `, in braces or brackets.
std::string types_in(std::string_view spelling) {
  std::string_view text = spelling;
  const std::size_t begin = text.find("T = ");
  if (begin == std::string_view::npos) return std::string(text);
  text.remove_prefix(begin + 4);
  if (!text.empty() && text.back() == ']') text.remove_suffix(1);
  if (!text.empty() && (text.front() == '{' || text.front() == '<')) {
    text.remove_prefix(1);
    text.remove_suffix(1);
  }
  return std::string(text);
}

bool belong_together(const std::vector<MergeRequest*>& requests, const Participants& present) {
  return (present.is_all() && all_equal(requests)) ||
         first_stranger(requests, present) == present.count();
}

ErrorReport describe_mismatch(const std::vector<MergeRequest*>& requests,
                              const Participants& present) {
  const MergeRequest& first = request_of(requests, present, 0);
  const Difference found =
      difference(first, request_of(requests, present, first_stranger(requests, present)));
  ErrorReport report = explain(found, first);
  for (int i = 0; i < present.count(); ++i) {
    const MergeRequest& request = request_of(requests, present, i);
    report.replicas.push_back({present.id(i), request.site, describe(found, first, request), {}});
  }
  return report;
}

}  // namespace belfry::detail
