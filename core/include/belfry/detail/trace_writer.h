// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"
#include "belfry/detail/trace_step.h"
#include "belfry/trace.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace belfry::detail {

/// The first line of a trace.
struct TraceHeader {
  std::string_view backend;  ///< `sim`, `cuda`.
  int hosts = 1;
  int devices = 0;
  std::string options{};  ///< As code.
};

/// The stream of an agent line.
struct TracedStream {
  int device = -1;   ///< -1: the host.
  int replica = -1;  ///< The replica that the device belongs to; -1: not known.
  std::string_view role = "other";
};

/// Writes the lines of a trace, each as a whole. Several threads may write at a time. No function
/// but `begin` and `close` throws: a line without memory or room on the disk is lost, and counted.
class TraceWriter {
 public:
  TraceWriter(std::string path, const TraceOptions& options, CallSite site);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  const std::string& path() const { return path_; }
  const TraceOptions& options() const { return options_; }

  /// Writes the first line. Throws: InvalidArgumentError (kInvalidArgument) at the second call.
  void begin(const TraceHeader& header, CallSite site);
  /// Writes the rank of the process and the size of its group; the first call counts.
  void join(int process, int processes) noexcept;
  /// Sets what the last line tells of the schedule; the first call counts.
  void end(std::string token, std::uint64_t hash) noexcept;

  /// The id of an agent of `host` (-1: the only one), whose line is written at the first call, and
  /// again when the replica of a stream is known.
  /// Throws: std::bad_alloc.
  std::string agent(int host, const AgentId& agent, const TracedStream& stream = {});
  /// Writes a line that is no step.
  void line(std::string_view object) noexcept;
  /// Writes a step. Returns its number, or nothing for a step beyond the bounds.
  std::optional<std::uint64_t> step(const TraceStep& step) noexcept;
  /// Writes the elements of a value of an earlier step.
  void value_of(std::uint64_t step, std::string_view list, std::size_t index,
                std::string_view elements) noexcept;
  /// The number of steps so far.
  std::uint64_t steps() const;

  void close(CallSite site);

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void put(std::string_view text) noexcept;
  bool has_room(std::size_t bytes) const;
  void write_end() noexcept;

  const std::string path_;
  const TraceOptions options_;
  mutable std::mutex mutex_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  std::set<std::string, std::less<>> agents_;
  bool begun_ = false;
  bool joined_ = false;
  bool broken_ = false;
  std::uint64_t bytes_ = 0;  // Of steps and values.
  std::uint64_t steps_ = 0;
  std::uint64_t cut_ = 0;
  std::optional<std::string> token_;
  std::uint64_t hash_ = 0;
};

}  // namespace belfry::detail
