// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/replica_programs.h"
#include "program_arithmetic.h"

#include <algorithm>
#include <optional>

namespace belfry::testing {
namespace {

enum class Status { kWaiting, kReturned, kThrew };

struct SimpleReplica {
  const std::vector<Step>* steps = nullptr;
  std::size_t next = 0;
  Status status = Status::kWaiting;
  int last_site = 0;
  Row row;
};

// The verb of a step: replicas in different verbs cannot meet.
int verb(StepKind kind) {
  if (kind < StepKind::kMergeSum) return 0;
  if (kind >= StepKind::kAssignSum) return 3;
  return kind >= StepKind::kAllReduceSum && kind <= StepKind::kAllReduceNest ? 2 : 1;
}

// All replicas in lock step, with loops instead of a library.
class Oracle {
 public:
  Oracle(const ReplicaProgram& program, int replicas) {
    for (int r = 0; r < replicas; ++r) {
      SimpleReplica replica;
      replica.steps = &program.steps_of(r);
      replica.row = first_row(r, program.length);
      replicas_.push_back(replica);
    }
    out_.replicas.resize(replicas_.size());
    for (ReplicaTrace& trace : out_.replicas) trace.local = first_mirrored(program.length, 1);
    MirroredValues& m = out_.mirrored;
    m.host = m.by_mean = m.by_first = first_mirrored(program.length, 2);
    m.tensor = m.by_sum = first_mirrored(program.length, 3);
  }

  Outcome run() {
    while (!out_.failed) {
      for (std::size_t r = 0; r < replicas_.size(); ++r) go_on(static_cast<int>(r));
      if (count(Status::kThrew) > 0) {
        out_.thrower = first(Status::kThrew);
        fail(ErrorCode::kReplicaThrew);
      } else if (count(Status::kReturned) == size()) {
        break;
      } else if (count(Status::kReturned) > 0) {
        fail(ErrorCode::kMergeMissing);
      } else {
        meet();
      }
    }
    return out_;
  }

 private:
  int size() const { return static_cast<int>(replicas_.size()); }
  const Step& step(int r) const { return (*replicas_[r].steps)[replicas_[r].next]; }
  Row& row(int r) { return replicas_[r].row; }

  int count(Status status) const {
    return static_cast<int>(std::count_if(replicas_.begin(), replicas_.end(),
                                          [&](const auto& r) { return r.status == status; }));
  }
  int first(Status status) const {
    int r = 0;
    while (replicas_[r].status != status) ++r;
    return r;
  }

  void fail(ErrorCode code) {
    out_.failed = true;
    out_.code = code;
    for (int r = 0; r < size(); ++r) out_.places.emplace_back(r, replicas_[r].last_site);
  }

  void finish_step(int r) {
    out_.replicas[r].rows.push_back(row(r));
    ++replicas_[r].next;
  }

  void go_on(int r) {
    SimpleReplica& replica = replicas_[r];
    while (replica.next < replica.steps->size()) {
      const Step& now = step(r);
      if (now.deviation == Deviation::kThrows) {
        replica.status = Status::kThrew;
        return;
      }
      if (merges(now.kind)) {
        replica.status = Status::kWaiting;
        replica.last_site = now.site;
        return;
      }
      do_locally(r, now);
      finish_step(r);
    }
    replica.status = Status::kReturned;
  }

  void do_locally(int r, const Step& now) {
    Row& x = row(r);
    if (now.kind == StepKind::kCompute) {
      x = quantised(plus(plus(x, x), static_cast<float>(now.amount + r)));
    } else if (now.kind == StepKind::kReadMirrored) {
      const bool tensor = now.residence == Residence::kTensor;
      x = quantised(plus(x, tensor ? out_.mirrored.tensor : out_.mirrored.host));
    } else {
      out_.replicas[r].local = plus(out_.replicas[r].local, x);
    }
  }

  // Reports the first replica that differs from replica 0.
  bool match() {
    for (int r = 1; r < size(); ++r) {
      const std::optional<ErrorCode> mismatch = mismatch_of(step(0), step(r));
      if (!mismatch) continue;
      fail(*mismatch);
      return false;
    }
    return true;
  }

  // Kinds before places before types before functions.
  static std::optional<ErrorCode> mismatch_of(const Step& zero, const Step& other) {
    if (verb(zero.kind) != verb(other.kind)) return ErrorCode::kMergeKinds;
    if (zero.site != other.site) return ErrorCode::kMergePlaces;
    if (differ(zero, other, Deviation::kOtherType)) return ErrorCode::kMergeTypes;
    if (differ(zero, other, Deviation::kOtherFunction)) return ErrorCode::kMergePlaces;
    return std::nullopt;
  }

  static bool differ(const Step& a, const Step& b, Deviation deviation) {
    return (a.deviation == deviation) != (b.deviation == deviation);
  }

  bool same_structure() {
    for (int r = 1; r < size(); ++r) {
      if (!differ(step(0), step(r), Deviation::kLonger) &&
          !differ(step(0), step(r), Deviation::kOtherOp)) {
        continue;
      }
      fail(ErrorCode::kStructure);
      return false;
    }
    return true;
  }

  Row sum() {
    Row total = row(0);
    for (int r = 1; r < size(); ++r) total = plus(total, row(r));
    return total;
  }
  Row mean() {
    Row total = sum();
    for (float& x : total) x /= static_cast<float>(size());
    return total;
  }

  void meet() {
    if (!match()) return;
    const Step now = step(0);
    if (has_merge_function(now.kind)) out_.merge_sites.push_back(now.site);
    if (now.deviation == Deviation::kMergeThrows || now.deviation == Deviation::kUpdateThrows) {
      fail(ErrorCode::kMergeThrew);
      return;
    }
    if (!same_structure()) return;
    if (now.kind == StepKind::kUpdate || now.kind >= StepKind::kAssignSum) {
      change_mirrored(now);
    } else {
      change_rows(now);
    }
    for (int r = 0; r < size(); ++r) finish_step(r);
  }

  void change_rows(const Step& now) {
    const Row total = sum();
    const Row average = mean();
    const Row chosen = row(now.amount % size());
    float in_order = 0;
    for (int r = 0; r < size(); ++r) in_order = folded_in_order(in_order, row(r)[0]);
    for (int r = 0; r < size(); ++r) {
      Row& x = row(r);
      const auto number = static_cast<float>(size());
      if (now.kind == StepKind::kMergeSum) {
        x = quantised(plus(total, static_cast<float>(r * now.amount)));
      } else if (now.kind == StepKind::kMergeInOrder) {
        x[0] = quantised(in_order + static_cast<float>(now.amount));
      } else if (now.kind == StepKind::kAllReduceSum) {
        x = quantised(total);
      } else if (now.kind == StepKind::kAllReduceMean) {
        x = quantised(average);
      } else if (now.kind == StepKind::kAllReduceNest) {
        // total, total + N (each row was raised by 1), and the first element of total.
        x = quantised(plus(plus(plus(total, total), number), total[0]));
      } else if (now.kind == StepKind::kNestedRun) {
        x = quantised(plus(total, static_cast<float>(r)));
      } else {
        x = quantised(plus(x, chosen));
      }
    }
  }

  void change_mirrored(const Step& now) {
    MirroredValues& m = out_.mirrored;
    if (now.kind == StepKind::kUpdate) {
      if (now.residence == Residence::kHost) {
        m.host = plus(m.host, sum());
      } else {
        const Row total = sum();
        for (std::size_t j = 0; j < total.size(); ++j) m.tensor[j] = total[j] - m.tensor[j];
      }
    } else if (now.kind == StepKind::kAssignSum) {
      assign(m.by_sum, sum(), now.amount);
    } else if (now.kind == StepKind::kAssignMean) {
      assign(m.by_mean, mean(), now.amount);
    } else {
      assign(m.by_first, row(0), now.amount);
    }
  }

  static void assign(Row& variable, const Row& value, int amount) {
    for (std::size_t j = 0; j < variable.size(); ++j) {
      if (amount % 3 == 0)
        variable[j] = value[j];
      else if (amount % 3 == 1)
        variable[j] += value[j];
      else
        variable[j] -= value[j];
    }
  }

  std::vector<SimpleReplica> replicas_;
  Outcome out_;
};

}  // namespace

Outcome predict(const ReplicaProgram& program, int replicas) {
  return Oracle(program, replicas).run();
}

}  // namespace belfry::testing
