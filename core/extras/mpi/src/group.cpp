// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/mpi/group.h"

#include "belfry/cluster_environment.h"
#include "belfry/detail/byte_stream.h"
#include "belfry/detail/options_text.h"
#include "belfry/error.h"
#include "checked.h"
#include "communicator.h"
#include "rounds.h"
#include "session.h"

#include <unistd.h>

#include <array>
#include <exception>
#include <utility>

namespace belfry::mpi {
namespace {

using belfry::detail::ByteReader;
using belfry::detail::Bytes;
using belfry::detail::ByteWriter;

constexpr std::int64_t kLongestPiece = std::int64_t{1} << 30;

std::string own_host() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  checked(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
  return {name.data(), static_cast<std::size_t>(length)};
}

void require_options(const GroupOptions& options, CallSite site) {
  if (options.piece_bytes < 1 || options.piece_bytes > kLongestPiece) {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument,
        "GroupOptions::piece_bytes is " + std::to_string(options.piece_bytes),
        "write a number from 1 to 2^30", site);
  }
  if (options.parts_from_bytes >= 0) return;
  throw InvalidArgumentError(
      ErrorCode::kInvalidArgument,
      "GroupOptions::parts_from_bytes is " + std::to_string(options.parts_from_bytes),
      "write a number that is not below 0", site);
}

// The error of a launcher with numbers that differ from MPI's; null without an error.
std::exception_ptr compare(const GroupOptions& options, CallSite site) {
  if (!options.check_launcher) return nullptr;
  int rank = 0;
  int size = 0;
  checked(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  checked(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  try {
    const Environment variables =
        options.environment ? *options.environment : environment_from(environ);
    require_same_process(variables, rank, size, std::nullopt, site);
    return nullptr;
  } catch (const Error&) {
    return std::current_exception();
  }
}

std::string summary_of(const std::exception_ptr& fault) {
  if (fault == nullptr) return {};
  try {
    std::rethrow_exception(fault);
  } catch (const Error& error) {
    return error.report().summary;
  }
}

// Rethrows `own`; without it, throws the first failure reported by another process.
void require_none(const std::exception_ptr& own, const std::vector<std::string>& faults,
                  CallSite site) {
  if (own != nullptr) std::rethrow_exception(own);
  for (std::size_t process = 0; process < faults.size(); ++process) {
    if (faults[process].empty()) continue;
    throw PeerFailedError(ErrorCode::kPeerFailed,
                          "process " + std::to_string(process) + " failed: " + faults[process],
                          "start all processes alike, with mpirun or srun", site);
  }
}

void require_equal(const char* option, const std::vector<std::int64_t>& deadlines, CallSite site) {
  for (std::size_t process = 0; process < deadlines.size(); ++process) {
    if (deadlines[process] == deadlines.front()) continue;
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               std::string("GroupOptions::") + option + " is " +
                                   std::to_string(deadlines.front()) + " ms in process 0, and " +
                                   std::to_string(deadlines[process]) + " ms in process " +
                                   std::to_string(process),
                               "give all processes the same deadline", site);
  }
}

}  // namespace

std::string to_string(const GroupOptions& options) {
  const GroupOptions usual;
  belfry::detail::OptionsText text;
  if (options.deadline != usual.deadline) text.put("deadline", to_string(options.deadline));
  if (options.farewell_deadline != usual.farewell_deadline) {
    text.put("farewell_deadline", to_string(options.farewell_deadline));
  }
  if (options.file_deadline != usual.file_deadline) {
    text.put("file_deadline", to_string(options.file_deadline));
  }
  text.add("piece_bytes", options.piece_bytes, usual.piece_bytes);
  text.add("parts_from_bytes", options.parts_from_bytes, usual.parts_from_bytes);
  text.add("check_launcher", options.check_launcher, usual.check_launcher);
  return text.text();
}

Group::Group(int& argc, char**& argv, const GroupOptions& options, CallSite site) {
  require_options(options, site);
  start_mpi(argc, argv, site);
  make(MPI_COMM_WORLD, options, site);
}

Group::Group(MPI_Comm communicator, const GroupOptions& options, CallSite site) {
  require_options(options, site);
  require_mpi(site);
  make(communicator, options, site);
}

// The first round: all learn the hosts, and compare deadlines.
void Group::make(MPI_Comm communicator, const GroupOptions& options, CallSite site) {
  const MPI_Comm own = duplicate(communicator, options.deadline, site);
  auto rounds = std::make_unique<Rounds>(own, options.deadline, options.file_deadline,
                                         static_cast<std::size_t>(options.piece_bytes));
  const std::exception_ptr fault = compare(options, site);
  ByteWriter out;
  out.put(options.deadline.as_milliseconds());
  out.put(options.file_deadline.as_milliseconds());
  out.text(own_host());
  out.text(summary_of(fault));
  std::vector<std::int64_t> deadlines;
  std::vector<std::int64_t> file_deadlines;
  std::vector<std::string> faults;
  for (const Bytes& bytes : rounds->meet(kConstructor, out.bytes())) {
    ByteReader in(bytes);
    deadlines.push_back(in.get<std::int64_t>());
    file_deadlines.push_back(in.get<std::int64_t>());
    hosts_.push_back(in.text());
    faults.push_back(in.text());
  }
  require_none(fault, faults, site);
  require_equal("deadline", deadlines, site);
  require_equal("file_deadline", file_deadlines, site);
  least_bytes_ = static_cast<std::size_t>(options.parts_from_bytes);
  rounds->set_hosts(hosts_);
  rounds->watch(options.farewell_deadline);
  rounds->set_names(calls());
  rounds_ = std::move(rounds);
  begin_group();
}

Group::~Group() {
  // No farewell if MPI has ended, or on a thread other than MPI's main thread.
  const bool all_took_leave = is_mpi_usable() && rounds_->take_leave();
  rounds_.reset();
  end_group(all_took_leave);
}

int Group::rank() const { return rounds_->rank(); }

int Group::size() const { return rounds_->size(); }

std::vector<Bytes> Group::gather(std::span<const std::byte> bytes) {
  require_mpi({});
  calls().begin();
  return rounds_->meet(kGather, bytes);
}

FoldedBytes Group::fold(std::span<const std::byte> bytes, Fold fold) {
  require_mpi({});
  calls().begin();
  return rounds_->meet_to_fold(kGather, bytes, fold);
}

bool Group::exchange_parts(bool is_ready, std::span<const SentPart> sent,
                           std::span<const ReceivedPart> received) {
  require_mpi({});
  calls().begin();
  return rounds_->exchange_parts(is_ready, sent, received);
}

Bytes Group::broadcast(std::span<const std::byte> bytes, int from) {
  require_mpi({});
  belfry::detail::require_rank(*this, from);
  calls().begin();
  const std::span<const std::byte> own = rank() == from ? bytes : std::span<const std::byte>{};
  std::vector<Bytes> all = rounds_->meet(from, own);
  return std::move(all[static_cast<std::size_t>(from)]);
}

std::string Group::host_name(int process) const {
  belfry::detail::require_rank(*this, process, "the host of");
  return hosts_[static_cast<std::size_t>(process)];
}

GroupHealth Group::health() {
  require_mpi({});
  return rounds_->health();
}

void Group::do_set_deadline(Deadline deadline) { rounds_->set_deadline(deadline); }

void Group::do_wait_for_file(bool is_underway) { rounds_->wait_for_file(is_underway); }

}  // namespace belfry::mpi
