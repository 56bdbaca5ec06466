// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace belfry::sim {

class Backend;

/// Marks the calling thread as inside the body of an exploration, until the end of the scope, and
/// notices other backends than the body's: nobody observes their schedules.
class PresentBody {
 public:
  /// `backend` is the body's.
  explicit PresentBody(const Backend& backend);
  ~PresentBody();
  PresentBody(const PresentBody&) = delete;
  PresentBody& operator=(const PresentBody&) = delete;

  /// Whether the body has used a second backend of the simulator.
  bool used_others() const { return used_others_; }
  /// Notes the use of `backend` by the innermost body of the calling thread, if any.
  static void uses(const Backend& backend) {
    if (present != nullptr && &present->backend_ != &backend) [[unlikely]] {
      present->used_others_ = true;
    }
  }

 private:
  // Decides no result: a verdict alone depends on the mark.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local PresentBody* present;

  const Backend& backend_;
  PresentBody* outer_;
  bool used_others_ = false;
};

}  // namespace belfry::sim
