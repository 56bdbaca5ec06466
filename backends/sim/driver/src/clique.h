// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/command.h"
#include "handle_table.h"
#include "objects.h"
#include "race_book.h"
#include "random_chooser.h"

#include <nccl.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::engine {
class Engine;
}

namespace belfry::driver {

class Machine;
struct CliqueObject;
struct ThreadState;

/// The communicator of a rank. Guarded by the lock of the CliqueBook.
struct CommunicatorObject {
  std::shared_ptr<CliqueObject> clique;  // with the other ranks
  int rank = 0;
  int gpu = 0;
  int polls_left = 0;                ///< How often to answer "in progress" before `state`.
  ncclResult_t state = ncclSuccess;  ///< Error found after the return of a call.
  bool blocking = false;             ///< Calls return after their end, without "in progress".
  bool finalized = false;
  /// Destroyed or failed: no call enqueues any more, and the communicator counts for no thread.
  bool ended = false;
  /// The maker has made further ranks, and no call has followed: the communicator may be for a
  /// thread without a call so far.
  bool unclaimed = false;
  std::uint64_t posted = 0;       ///< Number of collectives of this rank.
  ThreadState* caller = nullptr;  ///< The thread of the latest call; null if it has ended.
};

enum class Verb : std::uint8_t {
  kAllReduce,
  kReduce,
  kBroadcast,
  kAllGather,
  kReduceScatter,
  kSend,
  kReceive,
};
constexpr bool is_transfer(Verb verb) { return verb == Verb::kSend || verb == Verb::kReceive; }

/// The call of a collective, a send or a receive by a rank.
struct CliqueCall {
  Verb verb = Verb::kAllReduce;
  std::shared_ptr<CommunicatorObject> communicator{};  // with its handle
  StreamObject stream{};
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;  ///< In all-gather sent, in reduce-scatter received by each rank.
  ncclDataType_t type = ncclInt8;
  ncclRedOp_t op = ncclSum;
  int root = 0;            ///< Of a send the receiver, of a receive the sender.
  bool exchanges = false;  ///< A transfer in a group with a transfer from the same rank.
  std::optional<engine::Access> read{};
  std::optional<engine::Access> written{};
  Caller by{};

  Touched touched() const;
};

/// `all-reduce of 8 elements of type 7, root 0`.
std::string to_string(const CliqueCall& call);

/// A collective whose calls have arrived from some ranks, not from all.
struct OpenCollective {
  engine::CollectivePtr collective;
  MeetingPtr meeting;                              // with the items of the streams
  std::shared_ptr<std::vector<CliqueCall>> calls;  // with the collective's command; by rank
  CliqueCall first;                                ///< The first call; later calls must match.
  std::size_t joined = 0;
};

/// A send without its receive, or a receive without its send.
struct OpenTransfer {
  engine::CollectivePtr collective;
  MeetingPtr meeting;  // with the items of the streams
  CliqueCall call;
};

/// The ranks made with the same id.
struct CliqueObject {
  explicit CliqueObject(int ranks) : members(static_cast<std::size_t>(ranks)) {}

  std::vector<std::weak_ptr<CommunicatorObject>> members;  ///< By rank.
  std::size_t joined = 0;
  engine::EventPoint gathered;  ///< Reached when all ranks have joined, or none can any more.
  std::map<std::uint64_t, OpenCollective> open;  ///< By position in the order of calls.
  /// By sender and receiver, in the order of calls: all of them sends, or all of them receives.
  std::map<std::pair<int, int>, std::deque<OpenTransfer>> transfers;

  int size() const { return static_cast<int>(members.size()); }
  bool complete() const { return joined == members.size(); }
};

/// The call that makes the communicator of a rank.
struct JoinCall {
  ncclUniqueId id{};
  int ranks = 0;
  int rank = 0;
  bool blocking = false;
};

/// Every communicator of a machine. May be used by several threads.
class CliqueBook {
 public:
  /// The mistake in a call; empty without a mistake.
  using Complaint = std::optional<std::string>;
  using CommunicatorPtr = std::shared_ptr<CommunicatorObject>;

  explicit CliqueBook(Machine& machine);
  CliqueBook(const CliqueBook&) = delete;
  CliqueBook& operator=(const CliqueBook&) = delete;
  ~CliqueBook();

  void reseed(std::uint64_t seed) { orders_ = RandomChooser(seed); }
  ncclUniqueId make_id();
  /// Makes the communicator of a rank, on the GPU of the thread. If ranks share a GPU, all of them
  /// fail; the last to join learns the reason.
  Complaint join(const JoinCall& call, ThreadState& thread, ncclComm_t* handle);
  /// The communicator for a call of the thread. Null if no communicator has the handle.
  CommunicatorPtr find(ncclComm_t handle, ThreadState& thread);
  /// The same for a question, which any thread may ask.
  CommunicatorPtr look_up(ncclComm_t handle) const { return communicators_.find(handle); }
  /// The thread ends. Communicators without a later call are left: a thread without a call so far
  /// may use them.
  void leave(const ThreadState& thread);
  /// Order: blocks the host until all ranks of the communicator have joined. Throws: DeviceError
  /// (kDeadlock).
  void await_ranks(const CommunicatorObject& communicator);
  /// The result of a poll.
  ncclResult_t poll(CommunicatorObject& communicator);
  /// The first failure of the communicator so far.
  ncclResult_t failure_of(const CommunicatorObject& communicator) const;
  /// The communicator refuses all later calls, and no wait is a wait for its rank.
  void fail(CommunicatorObject& communicator, ncclResult_t code);
  bool busy(const CommunicatorObject& communicator) const;
  void set_busy(CommunicatorObject& communicator, int polls);
  void finalize(CommunicatorObject& communicator, int polls);
  bool finalized(const CommunicatorObject& communicator) const;
  bool destroy(ncclComm_t handle);
  /// Gives up the unfinished collectives of the communicator's clique.
  void abort(CommunicatorObject& communicator);
  /// Puts the call of a rank on its stream. The collective runs when the calls of all ranks have
  /// arrived there. If the ranks differ in their calls, the whole clique fails, with all calls
  /// whose counterparts are missing: no other rank waits for ever.
  Complaint post(const CliqueCall& call);
  /// Puts a send or a receive on a queue of its own, behind the present work of the stream, and
  /// records `done` behind the transfer. The transfer runs when both calls have arrived. The sends
  /// of a rank to another rank meet the receives there in the order of calls.
  /// `remark` gets a sentence about a transfer that NCCL leaves undefined.
  Complaint transfer(const CliqueCall& call, EventObject& done, std::string& remark);
  std::size_t alive() const { return communicators_.size(); }

 private:
  const std::shared_ptr<CliqueObject>& clique_for(std::uint64_t id, int ranks);
  void take(CommunicatorObject& communicator, ThreadState& thread);
  void set_unclaimed(CommunicatorObject& communicator, bool unclaimed);
  OpenCollective& open_for(const CliqueCall& call);
  void end(CommunicatorObject& communicator);
  void give_up(CliqueObject& clique, const engine::CollectivePtr& collective,
               const MeetingPtr& meeting, const std::string& why);
  void give_up_open_calls(CliqueObject& clique, const std::string& why);
  void fail_all(CliqueObject& clique);

  Machine& machine_;
  engine::Engine& engine_;
  RandomChooser orders_;
  HandleTable<CommunicatorObject> communicators_;
  mutable std::mutex mutex_;  // for all below, cliques and communicators
  std::uint64_t ids_ = 0;
  std::map<std::uint64_t, std::shared_ptr<CliqueObject>> cliques_;  // with their communicators
};

}  // namespace belfry::driver
