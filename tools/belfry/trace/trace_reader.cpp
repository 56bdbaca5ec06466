// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/trace_reader.h"

#include "belfry/detail/json.h"
#include "belfry/error.h"
#include "console.h"
#include "exit_code.h"
#include "trace/line_members.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace belfry::tool {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kLongest = 64u << 20;  // Bytes of a line: ends the read of an endless line.
constexpr std::int64_t kBetweenProgress = 10'000;

// The lines of a stream, of bounded length.
class Lines {
 public:
  explicit Lines(std::istream& in) : in_(in) {}

  // False at the end. `whole`: an end of line follows.
  bool next(std::string& line, bool& whole) {
    line.clear();
    for (;;) {
      const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
      const std::size_t length = rest.find('\n');
      whole = length != std::string_view::npos;
      line += rest.substr(0, length);
      begin_ += whole ? length + 1 : rest.size();
      if (whole || line.size() > kLongest) return true;
      in_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
      begin_ = 0;
      end_ = static_cast<std::size_t>(in_.gcount());
      if (end_ == 0) return !line.empty();
    }
  }

 private:
  std::istream& in_;
  std::vector<char> buffer_ = std::vector<char>(64u << 10);
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

TraceFailure failure_of(const LineMembers& members) {
  return {.code = members.text("code"),
          .text = members.text("text"),
          .replicas = members.elements("replicas"),
          .lines = members.elements("lines"),
          .parts = members.elements("parts"),
          .hint = members.text("hint")};
}

std::vector<TraceValue> values_of(const LineMembers& members, std::string_view list) {
  std::vector<TraceValue> values;
  for (const LineMembers& value : members.objects(list)) {
    values.push_back({.type = value.text("type"),
                      .shape = value.numbers("shape"),
                      .first = value.elements("first"),
                      .count = value.number("count", 1),
                      .digest = value.text("digest"),
                      .buffer = value.number("buffer", -1),
                      .leaf = value.text("leaf"),
                      .text = value.text("text")});
  }
  return values;
}

std::vector<TraceValue>* list_of(TraceStep& step, std::string_view name) {
  if (name == "brings") return &step.brings;
  if (name == "gets") return &step.gets;
  if (name == "reads") return &step.reads;
  return name == "writes" ? &step.writes : nullptr;
}

TraceAgent::Kind agent_kind(std::string_view name) {
  if (name == "replica") return TraceAgent::Kind::kReplica;
  if (name == "merge") return TraceAgent::Kind::kMerge;
  if (name == "stream") return TraceAgent::Kind::kStream;
  return name == "host" ? TraceAgent::Kind::kHost : TraceAgent::Kind::kOther;
}

class Reader {
 public:
  Reader(std::istream& in, const std::string& name, const TraceReading& how)
      : lines_(in), name_(name), how_(how) {
    trace_.file = name;
  }

  Trace read() {
    std::string text;
    bool whole = false;
    for (std::int64_t number = 1; lines_.next(text, whole); ++number) {
      const LinePlace place{name_, number, text};
      if (text.size() > kLongest) place.fail_at(kLongest, "expected an end of the line before");
      if (!read_line(place, whole)) break;
    }
    if (!begun_) fail_as_no_trace(LinePlace{name_, 1, ""});
    if (trace_.cut > 0) {
      note("the trace was cut: {} steps at the end were not written", trace_.cut);
    }
    if (!trace_.ended) {
      note("the trace has no end: the program was killed, is still running, or did not close it");
    }
    return std::move(trace_);
  }

 private:
  // The file may be of `belfry export`.
  [[noreturn]] static void fail_as_no_trace(const LinePlace& place) {
    const bool events = place.text.substr(0, 1'000).find("\"traceEvents\"") != std::string::npos;
    place.fail_at(1, events ? "expected a trace, and this is a file for ui.perfetto.dev; TraceFile "
                              "and `belfry demo --page` write traces"
                            : "expected a trace, whose first line is {\"belfry_trace\":1,...}");
  }

  template <class... Args>
  void note(fmt::format_string<Args...> text, Args&&... args) {
    trace_.notes.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  // False if the line is torn.
  bool read_line(const LinePlace& place, bool whole) {
    JsonValue value;
    try {
      value = detail::parse_json(place.text);
    } catch (const detail::JsonError& error) {
      if (!begun_) fail_as_no_trace(place);
      if (!whole) {
        note("line {} is torn and was left out", place.number);
        return false;
      }
      place.fail_at(std::max<std::size_t>(error.read, 1),
                    fmt::format("expected an object of JSON: {}", error.what()));
    }
    if (value.kind != JsonValue::Kind::kObject) {
      if (!begun_) fail_as_no_trace(place);
      place.fail_at(1, "expected an object of JSON");
    }
    read_object(LineMembers(value, place), place);
    if (how_.line) how_.line(LineMembers(value, place), place.text);
    return true;
  }

  void read_object(const LineMembers& line, const LinePlace& place) {
    if (!begun_ || line.has("belfry_trace")) return read_begin(line, place);
    if (line.has("step")) return read_step(line, place);
    if (line.has("value_of")) return read_value(line, place);
    if (line.has("agent")) return read_agent(line);
    if (line.has("variable")) return read_variable(line);
    if (line.has("process")) return read_process(line);
    if (const JsonValue* const verdict = line.object().member("verdict")) {
      if (verdict->kind != JsonValue::Kind::kObject) place.fail("verdict", "expected an object");
      trace_.verdict = *verdict;
    }
    if (const JsonValue* const failure = line.object().member("failure")) {
      if (failure->kind != JsonValue::Kind::kObject) place.fail("failure", "expected an object");
      trace_.failure = failure_of(LineMembers(*failure, place));
    }
    if (line.has("end")) {
      trace_.ended = line.flag("end");
      trace_.cut = line.number("cut", 0);
      trace_.token = line.text("token");
    }
  }

  void read_begin(const LineMembers& line, const LinePlace& place) {
    if (!line.has("belfry_trace")) fail_as_no_trace(place);
    if (begun_) place.fail("belfry_trace", "expected one trace; here a second trace begins");
    const std::int64_t version = line.number("belfry_trace");
    if (version != kVersion) {
      place.fail("belfry_trace", fmt::format("expected version {} of the format, and this is {}",
                                             kVersion, version));
    }
    begun_ = true;
    trace_.backend = line.text("backend");
    trace_.options = line.text("options");
    trace_.program = line.text("program");
    read_process(line);
    trace_.hosts = line.number("hosts", 1);
    trace_.replicas = line.number("replicas", 0);
  }

  // In the first line, or in a line of its own when the process knows its group.
  void read_process(const LineMembers& line) {
    trace_.process = line.number("process", 0);
    trace_.processes = line.number("processes", 1);
  }

  void read_agent(const LineMembers& line) {
    TraceAgent agent{.id = line.text("agent"),
                     .kind = agent_kind(line.text("kind")),
                     .index = line.number("index", -1),
                     .host = line.number("host", 0),
                     .replica = line.number("replica", -1),
                     .role = line.text("role"),
                     .name = line.text("name")};
    if (agent.name.empty()) agent.name = agent.id;
    if (agent.kind == TraceAgent::Kind::kReplica) agent.replica = agent.index;
    // A later line knows more.
    const auto [known, added] =
        agents_.try_emplace(agent.id, static_cast<int>(trace_.agents.size()));
    if (added) {
      trace_.agents.push_back(std::move(agent));
    } else {
      trace_.agents[static_cast<std::size_t>(known->second)] = std::move(agent);
    }
  }

  void read_variable(const LineMembers& line) {
    trace_.variables[line.number("variable")] = {.name = line.text("name"),
                                                 .kind = line.text("kind"),
                                                 .type = line.text("type"),
                                                 .shape = line.numbers("shape")};
  }

  int agent_of(const LineMembers& line, const LinePlace& place, std::string_view member) const {
    const std::string id = line.text(member);
    const auto known = agents_.find(id);
    if (known == agents_.end()) {
      place.fail(member, fmt::format("expected an agent that a line before tells, and \"{}\" is "
                                     "none",
                                     id));
    }
    return known->second;
  }

  void read_step(const LineMembers& line, const LinePlace& place) {
    TraceStep step;
    step.step = line.number("step");
    if (step.step < next_) {
      place.fail("step", fmt::format("expected a step from {} on: numbers of steps rise", next_));
    }
    next_ = step.step + 1;
    step.kind_name = line.text("kind");
    step.kind = step_kind(step.kind_name);
    step.agent = agent_of(line, place, "agent");
    if (line.has("stream")) step.stream = agent_of(line, place, "stream");
    if (line.has("for")) step.awaited = agent_of(line, place, "for");
    read_numbers(step, line);
    if (line.has("group")) {
      step.group = fmt::format("{{{}}}", fmt::join(line.numbers("group"), ", "));
    }
    step.name = line.text("name");
    step.op = line.text("op");
    step.line = line.text("line");
    step.error = line.text("error");
    step.event = line.text("event");
    step.after = line.numbers("after");
    for (const std::int64_t before : step.after) {
      if (before >= step.step) place.fail("after", "expected steps before this one");
    }
    for (const std::string_view list : {"brings", "gets", "reads", "writes"}) {
      *list_of(step, list) = values_of(line, list);
    }
    step.bookkeeping = line.flag("bookkeeping");
    read_failed(step, line, place);
    const bool meets =
        (step.kind == StepKind::kMerge && step.group.empty()) || step.kind == StepKind::kCall;
    if (meets) phase_ += 2;
    step.phase = phase_ - (meets ? 1 : 0);
    ++trace_.total;
    if (how_.progress && trace_.total % kBetweenProgress == 0) how_.progress(trace_.total);
    if (!how_.keep || how_.keep(step)) trace_.steps.push_back(std::move(step));
  }

  static void read_numbers(TraceStep& step, const LineMembers& line) {
    const std::array<std::pair<const char*, std::int64_t*>, 8> numbers = {
        {{"run", &step.run},
         {"round", &step.round},
         {"item", &step.item},
         {"variable", &step.variable},
         {"version", &step.version},
         {"members", &step.members},
         {"replicas", &step.replicas},
         {"replica", &step.replica}}};
    for (const auto& [name, number] : numbers) *number = line.number(name, -1);
  }

  static void read_failed(TraceStep& step, const LineMembers& line, const LinePlace& place) {
    const JsonValue* const failed = line.object().member("failed");
    if (failed == nullptr) return;
    if (failed->kind == JsonValue::Kind::kObject) {
      step.failed = true;
      step.failure = failure_of(LineMembers(*failed, place));
    } else {
      step.failed = line.flag("failed");
    }
  }

  void read_value(const LineMembers& line, const LinePlace& place) {
    const std::int64_t number = line.number("value_of");
    if (number >= next_) place.fail("value_of", "expected the number of a step before this line");
    const std::int64_t index = line.number("index", 0);
    auto* const step = const_cast<TraceStep*>(trace_.find(number));
    if (step == nullptr) return;  // Not kept.
    std::vector<TraceValue>* const list = list_of(*step, line.text("list"));
    if (list == nullptr) place.fail("list", "expected brings, gets, reads or writes");
    if (index >= static_cast<std::int64_t>(list->size())) {
      place.fail("index", fmt::format("expected an index below {}, the values of step {}",
                                      list->size(), number));
    }
    TraceValue& value = (*list)[static_cast<std::size_t>(index)];
    value.first = line.elements("first");
    value.digest = line.text("digest");
  }

  Lines lines_;
  const std::string& name_;
  const TraceReading& how_;
  Trace trace_;
  std::map<std::string, int, std::less<>> agents_;  // By id.
  std::int64_t next_ = 0;                           // The lowest number for the next step.
  std::int64_t phase_ = 0;
  bool begun_ = false;
};

}  // namespace

Trace parse_trace(std::istream& in, const std::string& name, const TraceReading& how) {
  return Reader(in, name, how).read();
}

TraceReading reading_with_progress(Console& console) {
  return {.progress = [&console](std::int64_t steps) {
    console.progress(fmt::format("{} steps read", steps));
  }};
}

std::ifstream open_trace(const std::string& path) {
  std::error_code ignored;
  errno = EISDIR;
  std::ifstream file;
  if (!std::filesystem::is_directory(path, ignored)) file.open(path, std::ios::binary);
  if (!file.is_open()) {
    throw UnreadableFile(ErrorCode::kFileFormat,
                         fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  }
  return file;
}

Trace read_trace(const std::string& path, const TraceReading& how) {
  std::ifstream file = open_trace(path);
  return parse_trace(file, path, how);
}

void require_other_file(const std::string& trace, const std::string& output) {
  std::error_code unknown;  // Of an output that does not exist yet.
  if (std::filesystem::equivalent(trace, output, unknown)) {
    throw InvalidArgumentError(ErrorCode::kFile, output + " is the trace itself",
                               "give the output another name with -o");
  }
}

}  // namespace belfry::tool
