// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "watch/host_watch.h"

#include "watch/run_time.h"

#include <atomic>

namespace belfry::sim::watch {
namespace {

// The run time with which the program is linked, or null; set before main, and never changed later.
constinit RunTime* attached = nullptr;
// Whether a watch goes on. Explorations of several threads compete for the run time.
constinit std::atomic<bool> is_taken = false;

}  // namespace

void attach(RunTime& run_time) { attached = &run_time; }

bool linked() { return attached != nullptr; }

bool start() {
  if (attached == nullptr || is_taken.exchange(true)) return false;
  attached->start();
  return true;
}

void start_audit() {
  if (attached != nullptr) attached->start_audit();
}

void enter(const Actor& actor) {
  if (attached != nullptr) attached->enter(actor, __builtin_frame_address(0));
}

void enter_body(const KernelBody& body, const void* frame) {
  if (attached != nullptr) attached->enter_body(body, frame);
}

LaunchFacts launch_of(const Actor& launcher, const void* kernel) {
  return attached == nullptr ? LaunchFacts() : attached->launch_of(launcher, kernel);
}

void leave() {
  if (attached != nullptr) attached->leave();
}

void begin_phase() {
  if (attached != nullptr) attached->begin_phase();
}

void begin_merge(bool is_verb) {
  if (attached != nullptr) attached->begin_merge(is_verb);
}

void make_variable(std::uint32_t number) {
  if (attached != nullptr) attached->make_variable(number);
}

void take_variable(std::uint32_t number) {
  if (attached != nullptr) attached->take_variable(number);
}

bool share(const std::byte* memory, std::size_t bytes, const Actor& actor) {
  return attached != nullptr && attached->share(memory, bytes, actor);
}

std::vector<SharedAccess> take_shared() {
  if (attached == nullptr) return {};
  return attached->take_shared();
}

HostReport stop() {
  if (attached == nullptr) return {};
  HostReport report = attached->stop();
  is_taken = false;
  return report;
}

CallSite source_site(const void* pc) {
  return attached != nullptr ? attached->source_site(pc) : CallSite{};
}

std::string source_line(const void* pc) {
  const CallSite site = source_site(pc);
  return site.empty() ? std::string() : to_string(site);
}

std::string source_line(const HostAccess& access) {
  if (!access.site.empty()) return to_string(access.site);
  const std::string line = source_line(access.pc);
  return access.is_near && !line.empty() ? "near " + line : line;
}

}  // namespace belfry::sim::watch
