// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Sends and receives. NCCL carries out the transfers of a group at once, in any order: each
// transfer has a queue of its own. The queue begins behind the work of the user's stream, and later
// work of the stream waits for the ends of all transfers of the group.
#include "clique.h"
#include "engine/engine.h"
#include "machine.h"

#include <cstring>
#include <string>
#include <utility>

namespace belfry::driver {
namespace {

constexpr std::size_t kSender = 0;
constexpr std::size_t kReceiver = 1;

std::string label_of(const CliqueCall& call) {
  const bool sends = call.verb == Verb::kSend;
  return "GPU " + std::to_string(call.communicator->gpu) + ", rank " +
         std::to_string(call.communicator->rank) + (sends ? " sends to" : " receives from") +
         " rank " + std::to_string(call.root);
}

bool are_alike(const CliqueCall& a, const CliqueCall& b) {
  return a.count == b.count && a.type == b.type;
}

// The receive says how many bytes: both calls are equal in count and type.
engine::Command command_of(const CliqueCall& send, const CliqueCall& receive) {
  engine::Command command;
  command.name = "send and receive";
  if (send.read) command.reads.push_back(*send.read);
  if (receive.written) command.writes.push_back(*receive.written);
  const std::size_t bytes =
      receive.written ? receive.written->range.end - receive.written->range.begin : 0;
  command.run = [from = send.send, to = receive.receive, bytes](const engine::Command&) {
    if (bytes > 0) std::memmove(to, from, bytes);
  };
  return command;
}

// Of an exchange in a group on the sender's side alone; its other transfer has no remark.
std::string remark_on(const CliqueCall& send, const CliqueCall& receive) {
  if (!send.exchanges || receive.exchanges) return {};
  const std::string sender = std::to_string(send.communicator->rank);
  const std::string receiver = std::to_string(receive.communicator->rank);
  return "rank " + sender + " sends to and receives from rank " + receiver +
         " in one group, and rank " + receiver +
         " in calls of their own: NCCL leaves the outcome undefined; group the calls on both ranks";
}

}  // namespace

CliqueBook::Complaint CliqueBook::transfer(const CliqueCall& call, EventObject& done,
                                           std::string& remark) {
  const std::lock_guard lock(mutex_);
  CliqueObject& clique = *call.communicator->clique;
  if (call.communicator->state != ncclSuccess) return "a rank of the communicator has failed";
  const bool sends = call.verb == Verb::kSend;
  const int own = call.communicator->rank;
  std::deque<OpenTransfer>& waiting =
      clique.transfers[sends ? std::pair(own, call.root) : std::pair(call.root, own)];

  Complaint complaint;
  engine::CollectivePtr collective;
  MeetingPtr meeting;
  if (waiting.empty() || waiting.front().call.verb == call.verb) {
    collective = std::make_shared<engine::Collective>(2);
    meeting = std::make_shared<Meeting>(2);
    waiting.push_back({collective, meeting, call});
  } else {
    const OpenTransfer open = std::move(waiting.front());
    waiting.pop_front();
    collective = open.collective;
    meeting = open.meeting;
    collective->command = sends ? command_of(call, open.call) : command_of(open.call, call);
    remark = sends ? remark_on(call, open.call) : remark_on(open.call, call);
    if (!are_alike(open.call, call)) {
      complaint = "a send and its receive differ: rank " +
                  std::to_string(open.call.communicator->rank) + " calls " + to_string(open.call) +
                  "; rank " + std::to_string(own) + " calls " + to_string(call);
      give_up(clique, collective, meeting, *complaint);
      give_up_open_calls(clique, *complaint);
    }
  }
  engine::CommandQueue& queue =
      engine_.create_queue({call.communicator->gpu, machine_.next_stream_number(), label_of(call)});
  JudgedEngine& judged = machine_.judged();
  judged.order(queue, *call.stream.queue);
  machine_.races().join(queue, meeting, call.touched(), call.by, *call.stream.queue);
  engine_.join(queue, collective, sends ? kSender : kReceiver);
  judged.record(queue, done);
  judged.destroy_queue(queue);
  return complaint;
}

}  // namespace belfry::driver
