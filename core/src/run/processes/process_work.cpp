// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Files. Process 0 alone opens files. A listening process 0 knows no checkpoint: the lowest process
// of the run sends the contents.
#include "belfry/detail/process_work.h"

#include "belfry/detail/process_exchange.h"
#include "belfry/detail/process_listeners.h"
#include "belfry/detail/process_values.h"
#include "belfry/error.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace belfry::detail {
namespace {

// The path of each process; none for a listening process.
std::vector<std::optional<std::string>> paths_of(const std::vector<Bytes>& payloads) {
  std::vector<std::optional<std::string>> paths;
  for (const Bytes& payload : payloads) {
    paths.push_back(payload.empty() ? std::nullopt : std::optional(ByteReader(payload).text()));
  }
  return paths;
}

bool name_one_path(const std::vector<std::optional<std::string>>& paths) {
  std::optional<std::string> first;
  return std::ranges::all_of(paths, [&](const std::optional<std::string>& path) {
    if (!path) return true;
    if (!first) first = path;
    return *path == *first;
  });
}

[[noreturn]] void throw_paths_differ(const char* what,
                                     const std::vector<std::optional<std::string>>& paths,
                                     CallSite site) {
  std::string found;
  for (std::size_t process = 0; process < paths.size(); ++process) {
    if (!paths[process]) continue;
    found +=
        (found.empty() ? "" : ", ") + *paths[process] + " in process " + std::to_string(process);
  }
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "processes differ in what they " + std::string(what) + ": " + found,
                             "give all processes the same path", site);
}

Bytes bytes_of(const std::string& text) {
  ByteWriter out;
  out.text(text);
  return out.bytes();
}

// The result of `work` of process 0, in every process. `contents` are for a listening process 0.
template <class Work>
Bytes done_by_first_process(StrategyCore& core, const char* what, const std::string& path,
                            const std::string& contents, CallSite site, const Work& work) {
  ProcessExchange& processes = *core.processes();
  ByteWriter object;
  object.text(path);
  object.text(contents);
  const auto paths = paths_of(processes.values_of_speakers(what, site, object.bytes()));
  if (!name_one_path(paths)) throw_paths_differ(what, paths, site);
  Bytes result;
  if (processes.rank() == 0) {
    try {
      result = work();
    } catch (...) {
      tell_failed_work(core, site);
      throw;
    }
  }
  return processes.values_of_speakers(kFileDone, site, result).front();
}

}  // namespace

void save_by_first_process(StrategyCore& core, const TensorFile& file, const std::string& path,
                           CallSite site) {
  if (core.processes() == nullptr) return file.write(path, site);
  const bool is_for_listener = has_listeners(core) && core.processes()->speaks_first();
  done_by_first_process(core, kSaveFile, path,
                        is_for_listener ? file.contents(site) : std::string(), site, [&] {
                          file.write(path, site);
                          return Bytes();
                        });
}

std::string read_by_first_process(StrategyCore& core, const std::string& path, CallSite site) {
  const Bytes sent = done_by_first_process(core, kReadFile, path, {}, site, [&] {
    return bytes_of(TensorFile::read(path, site).contents(site));
  });
  return ByteReader(sent).text();
}

Bytes work_of_listener(const std::string& what, const std::vector<Bytes>& payloads, CallSite site) {
  if (!name_one_path(paths_of(payloads))) return {};  // The processes of the run throw.
  const auto sent =
      std::ranges::find_if(payloads, [](const Bytes& payload) { return !payload.empty(); });
  check(sent != payloads.end(), "a message without a payload");
  ByteReader in(*sent);
  const std::string path = in.text();
  if (what == kReadFile) return bytes_of(TensorFile::read(path, site).contents(site));
  TensorFile::parse(in.text(), path, site).write(path, site);
  return {};
}

}  // namespace belfry::detail
