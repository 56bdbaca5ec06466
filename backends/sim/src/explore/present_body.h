// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

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

  /// Whether the body has used a second backend of the simulator, also in an exploration.
  bool used_others() const { return used_others_; }
  /// The first draw of the body, by a replica or the caller, in words; empty without a draw.
  const std::string& draw() const { return draw_; }
  /// Whether the body is part of the body of an exploration.
  bool is_nested() const { return outer_ != nullptr; }
  /// Notes a draw from `library` by the innermost body of the calling thread, if any.
  static void draws(std::string_view library);
  /// Whether the calling thread is in a body.
  static bool is_in_body() { return present != nullptr; }
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
  std::string draw_;
};

}  // namespace belfry::sim
