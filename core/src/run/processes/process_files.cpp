// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Files. Process 0 alone opens files. A listening process 0 knows no checkpoint: the lowest process
// of the run sends the contents.
#include "run/processes/process_files.h"

#include "belfry/detail/host_values.h"
#include "belfry/detail/round_members.h"
#include "belfry/error.h"
#include "run/processes/group_members.h"
#include "values/tensor_file_in_pieces.h"
#include "values/tensor_file_layout.h"
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
constexpr const char* kPieceOfFile = "a piece of the file";

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

// Pieces go from and to process 0, which knows no sharded variable if it listens.
void require_speaker(StrategyCore& core, const char* what, CallSite site) {
  if (core.members().first_speaker() != 0) core.members().require_no_listener(what, site);
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

// The arrays left in the file, then all other contents.
Bytes message_about(const TensorFileInPieces& file, CallSite site) {
  ByteWriter out;
  out.put(static_cast<std::uint64_t>(file.outlines().size()));
  for (const ArrayOutline& array : file.outlines()) {
    out.text(array.name);
    out.put(array.dtype);
    out.put(static_cast<std::uint64_t>(array.shape.rank()));
    for (const std::int64_t extent : array.shape.extents()) out.put(extent);
  }
  const std::string contents = file.contents().contents(site);
  out.add(contents.data(), contents.size());
  return out.take();
}

std::vector<ArrayOutline> outlines_in(ByteReader& in) {
  std::vector<ArrayOutline> outlines(in.count());
  for (ArrayOutline& array : outlines) {
    array.name = in.text();
    array.dtype = in.get<DType>();
    std::vector<std::int64_t> extents(in.count(sizeof(std::int64_t)));
    for (std::int64_t& extent : extents) extent = in.get<std::int64_t>();
    array.shape = Shape(std::move(extents));
  }
  return outlines;
}

Bytes bytes_of(bool is_saved) {
  ByteWriter out;
  out.put(is_saved);
  return out.bytes();
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// While the object lives, several processes wait longer for process 0 and the file.
class WaitForFile {
 public:
  explicit WaitForFile(StrategyCore& core) {
    if (!core.members().is_alone()) wait_.emplace(group_members(core).group());
  }

 private:
  std::optional<ProcessGroup::FileWait> wait_;
};

// Adds all parts to the new file of process 0. `save` is empty in the other processes.
void add_parts(StrategyCore& core, const TensorFileLayout& layout, ReadArray read,
               std::optional<OwnedSave>& save, CallSite site) {
  const auto add = [&](std::string_view bytes) {
    told_to_all(core, site, [&] {
      save->add(bytes);
      return Bytes();
    });
  };
  for (const FilePart& part : layout.parts()) {
    const auto take = [&](std::span<const std::byte> elements) { add(text_of(elements)); };
    if (part.array < 0) {
      add(part.bytes);
    } else {
      const WaitForFile wait(core);
      read(part.array, take);
    }
  }
}

// Returns false if a later job has removed the new file. The exchange before `begin` proves that no
// process was given up before the new file existed.
bool save_once(StrategyCore& core, const TensorFile& file, const TensorFileLayout& layout,
               ReadArray read, const std::string& path, CallSite site) {
  const bool is_for_listener = core.members().has_listeners() && core.members().speaks_first();
  meet(core, kSaveFile, path, is_for_listener ? file.contents(site) : std::string(), site);
  std::optional<OwnedSave> save;
  told_to_all(core, site, [&] {
    save.emplace(path, core.file_owners(), site);
    return Bytes();
  });
  answer_of_first(core, kFileBegun, site, {});
  told_to_all(core, site, [&] {
    save->begin();
    return Bytes();
  });
  add_parts(core, layout, read, save, site);
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
  const auto none = [](int, FunctionRef<void(std::span<const std::byte>)>) {};
  save_by_first_process(core, file, {}, none, path, site);
}

void save_by_first_process(StrategyCore& core, const TensorFile& file,
                           std::span<const ArrayOutline> arrays, ReadArray read,
                           const std::string& path, CallSite site) {
  if (!arrays.empty()) require_speaker(core, "saving a sharded variable", site);
  const TensorFileLayout layout(file, arrays, site);
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (save_once(core, file, layout, read, path, site)) return;
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

FileOfFirstProcess::FileOfFirstProcess(StrategyCore& core, const std::string& path,
                                       const std::set<std::string>& later, CallSite site)
    : core_(core), site_(site) {
  require_speaker(core, "restoring a sharded variable", site);
  meet(core, kReadFile, path, {}, site);
  Bytes own = told_to_all(core, site, [&] {
    meet_owners(path, core.file_owners());
    file_ = std::make_unique<TensorFileInPieces>(path, later, site);
    return core.members().is_alone() ? Bytes() : message_about(*file_, site);
  });
  std::vector<ArrayOutline> outlines;
  if (core.members().is_alone()) {
    contents_ = file_->contents();
    outlines = file_->outlines();
  } else {
    const auto sent = answer_of_first(core, kFileDone, site, std::move(own));
    ByteReader in(*sent);
    outlines = outlines_in(in);
    contents_ = TensorFile::parse(text_of(in.rest()), path, site);
  }
  for (const ArrayOutline& array : outlines) {
    contents_.tensors[array.name] = {array.dtype, array.shape, {}};
  }
}

void FileOfFirstProcess::read(const std::string& name, std::uint64_t at, std::span<std::byte> to) {
  if (core_.members().is_alone()) return file_->read(name, at, to);
  const WaitForFile wait(core_);
  const auto write = [&](ByteWriter& out) {
    if (file_ != nullptr) file_->read(name, at, {out.make_room(to.size()), to.size()});
  };
  const auto sent = core_.members().exchange_to_hear(kPieceOfFile, site_, 0, write);
  check(sent->size() == to.size(), "a piece of a file of another size");
  std::ranges::copy(*sent, to.begin());
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
      : file(TensorFile::parse(contents, path, site)),
        layout(file, {}, site),
        save(path, core.file_owners(), site) {}

  bool finish() {
    save.begin();
    for (const FilePart& part : layout.parts()) save.add(part.bytes);
    return save.finish();
  }

  TensorFile file;
  TensorFileLayout layout;
  OwnedSave save;
};

ListenersFiles::ListenersFiles(StrategyCore& core, CallSite site) : core_(core), site_(site) {}
ListenersFiles::~ListenersFiles() = default;

Bytes ListenersFiles::hear(const std::string& what, const std::vector<Bytes>& payloads) {
  if (what == kFileBegun) return bytes_of(std::exchange(save_, nullptr)->finish());
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
