// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/sim/attachments.h"
#include "belfry/sim/observer.h"
#include "belfry/sim/options.h"

#include <memory>
#include <string_view>
#include <vector>

namespace belfry::sim {

class Backend;

/// A backend that a program makes.
struct MadeBackend {
  Options options{};
  CallSite site{};             ///< Of the constructor.
  std::string_view refusal{};  ///< The reason against an exploration; empty without a reason.
};

/// Notes, for the present body, that a replica uses the observed backend, and belongs to a run of a
/// second backend: the order of such uses is unknown.
class Bystander final : public Observer {
 public:
  void observe(const Observation& seen) override;
};

/// A program that makes its backends itself, over all its runs.
struct ExploredProgram {
  std::vector<MadeBackend> backends{};  ///< Of the first run, in the order of the making.
  Bystander bystander{};
};

/// A run of a program in the present body of the calling thread, until the end of the scope.
/// Counts the backends that the program makes, and hands out the explored backend.
class ProgramRun {
 public:
  /// `explored` takes the place of the backend `number`, counted from 1; null: of none. Backends of
  /// the program are owners of `program`: no second program has its address meanwhile.
  ProgramRun(std::shared_ptr<ExploredProgram> program, int number, const Backend* explored);
  /// Notes, for the present body, a program that has made other backends than in its first run.
  ~ProgramRun();
  ProgramRun(const ProgramRun&) = delete;
  ProgramRun& operator=(const ProgramRun&) = delete;

  /// The program makes `backend`. Returns the explored backend in its place, or null.
  const Backend* make(const MadeBackend& backend);
  /// `attached`, with a bystander unless there is an observer.
  Attachments observed(const Attachments& attached) const;
  const std::shared_ptr<ExploredProgram>& program() const { return program_; }
  /// The backends of this run so far.
  const std::vector<MadeBackend>& made() const { return made_; }

 private:
  const std::shared_ptr<ExploredProgram> program_;
  const int number_;
  const Backend* explored_;
  std::vector<MadeBackend> made_;
};

}  // namespace belfry::sim
