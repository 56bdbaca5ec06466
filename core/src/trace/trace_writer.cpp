// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/detail/trace_writer.h"

#include "belfry/detail/json.h"
#include "belfry/error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace belfry::detail {
namespace {

// `R1`, and on a host of a cluster `H2.R1`.
std::string id_of(int host, const AgentId& agent) {
  const std::string own = to_string(agent);
  if (host < 0) return own;
  return agent.kind == AgentId::Kind::kHost ? fmt::format("H{}", host)
                                            : fmt::format("H{}.{}", host, own);
}

std::string name_of(int host, const AgentId& agent, const TracedStream& stream) {
  std::string name;
  switch (agent.kind) {
    case AgentId::Kind::kReplica:
      name = fmt::format("replica {}", agent.index);
      break;
    case AgentId::Kind::kMerge:
      name =
          agent.index == 0 ? "merges" : fmt::format("merges of runs inside {} runs", agent.index);
      break;
    case AgentId::Kind::kHost:
      return host < 0 ? "host" : fmt::format("host {}", host);
    case AgentId::Kind::kStream: {
      const std::string role =
          stream.role == "other" ? fmt::format("stream {}", agent.index) : std::string(stream.role);
      if (stream.replica >= 0) {
        name = fmt::format("{} of replica {}", role, stream.replica);
      } else if (stream.device >= 0) {
        name = fmt::format("{} of device {}", role, stream.device);
      } else {
        name = role + " of the host's memory";
      }
      break;
    }
  }
  return host < 0 ? name : fmt::format("{} of host {}", name, host);
}

std::string_view kind_of(AgentId::Kind kind) {
  switch (kind) {
    case AgentId::Kind::kReplica:
      return "replica";
    case AgentId::Kind::kMerge:
      return "merge";
    case AgentId::Kind::kStream:
      return "stream";
    case AgentId::Kind::kHost:
      return "host";
  }
  return "?";
}

[[noreturn]] void unwritable(const std::string& path, int reason, CallSite site) {
  const std::string why = reason != 0 ? std::strerror(reason) : "it cannot be written";
  throw InvalidArgumentError(ErrorCode::kFile, "cannot write the trace " + path + ": " + why,
                             "check the folder, its permissions and the room on the disk", site);
}

}  // namespace

TraceWriter::TraceWriter(std::string path, const TraceOptions& options, CallSite site)
    : path_(std::move(path)), options_(options) {
  errno = 0;
  file_.reset(std::fopen(path_.c_str(), "wbe"));
  if (file_ == nullptr) unwritable(path_, errno, site);
}

TraceWriter::~TraceWriter() {
  const std::lock_guard lock(mutex_);
  write_end();
}

void TraceWriter::begin(const TraceHeader& header, CallSite site) {
  const std::lock_guard lock(mutex_);
  if (begun_) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "the trace " + path_ + " has the steps of a backend already",
                               "make a TraceFile for each backend and each run of a cluster", site);
  }
  begun_ = true;
  put(
      fmt::format("{{\"belfry_trace\":1,\"backend\":\"{}\",\"process\":0,\"processes\":1,"
                  "\"hosts\":{},\"replicas\":{},\"devices\":{},\"values\":{},\"options\":{},"
                  "\"program\":{}}}\n",
                  header.backend, header.hosts, header.devices, header.devices, options_.values,
                  json_string(header.options), json_string(options_.program)));
}

void TraceWriter::join(int process, int processes) noexcept {
  const std::lock_guard lock(mutex_);
  if (std::exchange(joined_, true)) return;
  try {
    put(fmt::format("{{\"process\":{},\"processes\":{}}}\n", process, processes));
  } catch (const std::exception&) {
    broken_ = true;
  }
}

void TraceWriter::end(std::string token, std::uint64_t hash) noexcept {
  const std::lock_guard lock(mutex_);
  if (token_) return;
  token_ = std::move(token);
  hash_ = hash;
}

std::string TraceWriter::agent(int host, const AgentId& agent, const TracedStream& stream) {
  std::string id = id_of(host, agent);
  const std::lock_guard lock(mutex_);
  // The line of a stream comes again when its replica is known.
  const std::string known = stream.replica < 0 ? id : fmt::format("{} of {}", id, stream.replica);
  const bool is_known = !agents_.insert(id).second;
  if (is_known && (stream.replica < 0 || agents_.contains(known))) return id;
  agents_.insert(known);
  std::string about;
  if (agent.kind == AgentId::Kind::kStream) {
    about = fmt::format(",\"device\":{},\"role\":\"{}\"", stream.device, stream.role);
    if (stream.replica >= 0) about += fmt::format(",\"replica\":{}", stream.replica);
  }
  put(fmt::format(
      "{{\"agent\":\"{}\",\"kind\":\"{}\",\"index\":{},\"host\":{}{},\"name\":\"{}\"}}\n", id,
      kind_of(agent.kind), agent.index, host < 0 ? 0 : host, about, name_of(host, agent, stream)));
  return id;
}

void TraceWriter::line(std::string_view object) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    put(std::string(object) + "\n");
  } catch (const std::bad_alloc&) {
    broken_ = true;
  }
}

std::optional<std::uint64_t> TraceWriter::step(const TraceStep& step) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    const std::string text = fmt::format("{{\"step\":{},{}}}\n", steps_, step.members());
    if (has_room(text.size()) && steps_ < options_.max_steps) {
      bytes_ += text.size();
      put(text);
      return steps_++;
    }
  } catch (const std::exception&) {  // Without memory the step counts as cut.
  }
  ++cut_;
  return std::nullopt;
}

void TraceWriter::value_of(std::uint64_t step, std::string_view list, std::size_t index,
                           std::string_view elements) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    const std::string text = fmt::format("{{\"value_of\":{},\"list\":\"{}\",\"index\":{},{}}}\n",
                                         step, list, index, elements);
    if (!has_room(text.size())) return;
    bytes_ += text.size();
    put(text);
  } catch (const std::exception&) {
    broken_ = true;
  }
}

std::uint64_t TraceWriter::steps() const {
  const std::lock_guard lock(mutex_);
  return steps_;
}

// After the first cut step all are cut: the trace has no gap.
bool TraceWriter::has_room(std::size_t bytes) const {
  return cut_ == 0 && bytes_ + bytes <= options_.max_bytes;
}

// A line is handed to the system as a whole: nothing of it is lost with the process.
void TraceWriter::put(std::string_view text) noexcept {
  if (file_ == nullptr) return;
  const bool written = std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size();
  if (!written || std::fflush(file_.get()) != 0) broken_ = true;
}

void TraceWriter::write_end() noexcept {
  if (file_ == nullptr) return;
  try {
    put(fmt::format("{{\"end\":true,\"steps\":{},\"cut\":{},\"token\":{},\"hash\":\"{:#018x}\"}}\n",
                    steps_, cut_, json_string(token_.value_or("")), hash_));
  } catch (const std::exception&) {
    broken_ = true;
  }
  if (std::fclose(file_.release()) != 0) broken_ = true;
}

void TraceWriter::close(CallSite site) {
  const std::lock_guard lock(mutex_);
  write_end();
  if (std::exchange(broken_, false)) unwritable(path_, 0, site);
}

}  // namespace belfry::detail
