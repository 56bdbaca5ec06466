// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace belfry::sim {

/// Marks the calling thread as inside the body of an exploration, until the end of the scope, and
/// keeps the number of backends that the thread makes meanwhile.
class PresentBody {
 public:
  PresentBody();
  ~PresentBody();
  PresentBody(const PresentBody&) = delete;
  PresentBody& operator=(const PresentBody&) = delete;

  /// Backends that the body has made itself.
  int backends() const { return backends_; }
  /// Tells the innermost body of the calling thread, if any, that a backend is made.
  static void made_backend();

 private:
  PresentBody* outer_;
  int backends_ = 0;
};

}  // namespace belfry::sim
