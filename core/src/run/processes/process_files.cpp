// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Files. Process 0 alone opens files. A listening process 0 knows no checkpoint: the lowest process
// of the run sends the contents.
#include "run/processes/process_files.h"

#include "belfry/detail/host_values.h"
#include "belfry/detail/round_members.h"
#include "belfry/error.h"
#include "run/processes/group_members.h"
#include "values/tensor_file_save.h"
#include "words/owned_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace belfry::detail {
namespace {

constexpr int kMostAttempts = 10;

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

// The exchange at the beginning of work on a file. `contents` are for a listening process 0.
void meet(StrategyCore& core, const char* what, const std::string& path,
          const std::string& contents, CallSite site) {
  ByteWriter object;
  object.text(path);
  object.text(contents);
  const auto paths = paths_of(core.members().exchange(what, site, object.bytes()));
  if (!name_one_path(paths)) throw_paths_differ(what, paths, site);
}

// The result of `work`, in process 0. A failure is told to all.
template <class Work>
Bytes told_to_all(StrategyCore& core, CallSite site, const Work& work) {
  return core.members().rank() == 0 ? core.telling_failure(site, work) : Bytes();
}

// The answer of process 0 after its work on a file, for which the others wait longer than for
// anything else. An answer may be the contents of the file: a process has them twice at most.
std::shared_ptr<const Bytes> answer_of_first(StrategyCore& core, const char* what, CallSite site,
                                             Bytes answer) {
  if (core.members().is_alone()) return std::make_shared<const Bytes>(std::move(answer));
  GroupMembers& members = group_members(core);
  const ProcessGroup::FileWait wait(members.group());
  const auto write = [&answer](ByteWriter& out) {
    out.add(answer.data(), answer.size());
    answer = Bytes();
  };
  return members.exchange_to_hear(what, site, 0, write);
}

Bytes read_file(StrategyCore& core, const std::string& path, CallSite site) {
  meet_owners(path, core.file_owners());
  const std::string contents = TensorFile::read(path, site).contents(site);
  const auto* const begin = reinterpret_cast<const std::byte*>(contents.data());
  return {begin, begin + contents.size()};
}

Bytes bytes_of(bool is_saved) {
  ByteWriter out;
  out.put(is_saved);
  return out.bytes();
}

// Returns false if a later job has removed the new file. The exchange between the two steps of the
// save proves that no process was given up before the new file existed.
bool save_once(StrategyCore& core, const TensorFile& file, const std::string& path, CallSite site) {
  const bool is_for_listener = core.members().has_listeners() && core.members().speaks_first();
  meet(core, kSaveFile, path, is_for_listener ? file.contents(site) : std::string(), site);
  std::optional<TensorFileSave> save;
  told_to_all(core, site, [&] {
    save.emplace(file, path, core.file_owners(), site);
    return Bytes();
  });
  answer_of_first(core, kFileBegun, site, {});
  Bytes answer = told_to_all(core, site, [&] { return bytes_of(save->finish()); });
  return ByteReader(*answer_of_first(core, kFileDone, site, std::move(answer))).get<bool>();
}

constexpr std::size_t kDigestPiece = 65536;  // Bytes.

std::int64_t digest_of(const TensorFile& file) {
  HostDigest digest;
  for (const auto& [name, tensor] : file.tensors) {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(tensor.bytes.data());
    digest.add(std::vector<std::uint8_t>(name.begin(), name.end()));
    // Pieces, since a copy of a whole tensor is long.
    for (std::size_t at = 0; at < tensor.bytes.size(); at += kDigestPiece) {
      const std::size_t end = std::min(tensor.bytes.size(), at + kDigestPiece);
      digest.add(std::vector<std::uint8_t>(bytes + at, bytes + end));
    }
  }
  return static_cast<std::int64_t>(digest.value());
}

}  // namespace

void save_by_first_process(StrategyCore& core, const TensorFile& file, const std::string& path,
                           CallSite site) {
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (save_once(core, file, path, site)) return;
  }
  throw InvalidArgumentError(ErrorCode::kFile,
                             "cannot save " + path + ": its new file was removed " +
                                 std::to_string(kMostAttempts) + " times",
                             "end the other jobs that restore or save the file", site);
}

TensorFile read_by_first_process(StrategyCore& core, const std::string& path, CallSite site) {
  if (core.members().is_alone()) {
    meet_owners(path, core.file_owners());
    return TensorFile::read(path, site);
  }
  meet(core, kReadFile, path, {}, site);
  Bytes own = told_to_all(core, site, [&] { return read_file(core, path, site); });
  const auto sent = answer_of_first(core, kFileDone, site, std::move(own));
  const std::string_view contents(reinterpret_cast<const char*>(sent->data()), sent->size());
  return TensorFile::parse(contents, path, site);
}

void require_same_file(StrategyCore& core, const TensorFile& file, CallSite site) {
  const auto write = [&file](ByteWriter& out) { out.put(digest_of(file)); };
  const std::vector<Bytes> all =
      core.members().exchange_to_compare("contents to restore", site, write);
  const auto first = static_cast<std::size_t>(core.members().first_speaker());
  for (std::size_t process = 0; process < all.size(); ++process) {
    if (all[process].empty() || all[process] == all[first]) continue;  // Empty: listens.
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "processes restore different contents: process " +
                                   std::to_string(first) + " and process " +
                                   std::to_string(process) + " differ",
                               "restore from a path: process 0 reads the file for all", site);
  }
}

struct ListenersFiles::Save {
  Save(const std::string& contents, const std::string& path, StrategyCore& core, CallSite site)
      : file(TensorFile::parse(contents, path, site)), save(file, path, core.file_owners(), site) {}

  TensorFile file;
  TensorFileSave save;
};

ListenersFiles::ListenersFiles(StrategyCore& core, CallSite site) : core_(core), site_(site) {}
ListenersFiles::~ListenersFiles() = default;

Bytes ListenersFiles::hear(const std::string& what, const std::vector<Bytes>& payloads) {
  if (what == kFileBegun) return bytes_of(std::exchange(save_, nullptr)->save.finish());
  if (!name_one_path(paths_of(payloads))) return {};  // The processes of the run throw.
  const auto sent =
      std::ranges::find_if(payloads, [](const Bytes& payload) { return !payload.empty(); });
  check(sent != payloads.end(), "a message without a payload");
  ByteReader in(*sent);
  const std::string path = in.text();
  if (what == kReadFile) return read_file(core_, path, site_);
  const std::string contents = in.text();
  save_ = std::make_unique<Save>(contents, path, core_, site_);
  return {};
}

}  // namespace belfry::detail
