// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/body_run.h"

#include "belfry/detail/host_accesses.h"
#include "belfry/error.h"
#include "engine/engine.h"
#include "explore/present_body.h"
#include "explore/uses_beside.h"

#include <algorithm>
#include <exception>
#include <new>
#include <span>
#include <thread>
#include <utility>

namespace belfry::sim {
namespace {

constexpr std::size_t kLongLog = std::size_t{1} << 20;

bool is_short_of_memory(const Error& error) { return error.code() == ErrorCode::kOutOfMemory; }

// The text of an error without the numbers that depend on the progress of streams.
std::string text_of(const Error& error) {
  if (is_short_of_memory(error) || error.code() == ErrorCode::kDeadlock) {
    return to_string(error.code());
  }
  return error.what();
}

BodyOutcome outcome_of(const ExploredBody& body, Backend& backend) {
  BodyOutcome outcome;
  outcome.threw = true;
  const auto call = [&] { outcome.result = body(backend); };
  try {
    detail::around_body == nullptr ? call() : detail::around_body(call);
    outcome.threw = false;
  } catch (const Error& error) {
    outcome.result.text = text_of(error);
    outcome.without_memory = is_short_of_memory(error);
  } catch (const std::bad_alloc&) {
    outcome.result.text = "std::bad_alloc";
    outcome.without_memory = true;
  } catch (const std::exception& exception) {
    outcome.result.text = exception.what();
  } catch (...) {
    outcome.result.text = "an exception of a type without a text";
  }
  return outcome;
}

bool runs_on_fiber() {
  return belfry::detail::stack_around(__builtin_frame_address(0)).low != nullptr;
}

bool can_watch() { return watch::linked() && !PresentBody::is_in_body() && !runs_on_fiber(); }

}  // namespace

constinit detail::AroundBody detail::around_body = nullptr;

Options explored(Options options) {
  options.record = true;
  options.digests = Digests::kAll;
  if (options.record_limit == Options().record_limit) options.record_limit = kLongLog;
  options.carrier = Carrier::kFiber;
  options.check_kernels = true;
  return options;
}

bool BodyOutcome::same(const BodyOutcome& other) const {
  if (threw != other.threw || result.text != other.result.text) return false;
  if (result.bits != other.result.bits) return false;
  if (result.value == nullptr || other.result.value == nullptr) {
    return result.value == other.result.value;
  }
  return result.equal(result.value.get(), other.result.value.get());
}

std::string BodyOutcome::text() const {
  return threw ? "an exception: " + result.text : result.text;
}

// Sees the run. Keeps quiet about memory that runs out: a run may be between two states.
class BodyRun::Witness final : public Observer, public engine::HostAccessWatch {
 public:
  /// With `wants_host`, accesses to host memory are watched, too, unless a second exploration has
  /// the watch. `second` may be null.
  Witness(Scrutiny scrutiny, bool wants_host, Observer* second)
      : scrutiny_(scrutiny), second_(second), watches_host_(wants_host && watch::start()) {}
  ~Witness() override {
    if (watches_host_) watch::stop();
  }

  void observe(const Observation& seen) override {
    take_shared();
    if (watches_host_ && seen.operation != nullptr) note_merge(*seen.operation);
    if (second_ != nullptr) second_->observe(seen);
    if (scrutiny_ == Scrutiny::kNothing) return;
    if (over_ && seen.kind == Observation::Kind::kQueried) return;
    used_second_thread = used_second_thread || std::this_thread::get_id() != thread_;
    try {
      steps.add(seen);
      if (scrutiny_ == Scrutiny::kSteps) return;
      facts.add(seen);
      detector.observe(seen);
    } catch (const std::bad_alloc&) {
      incomplete = true;
    }
  }
  Extent extent() const override {
    if (watches_host_) return Extent::kMemory;
    const bool is_observed = scrutiny_ != Scrutiny::kNothing || second_ != nullptr;
    return is_observed ? Extent::kRuns : Extent::kNothing;
  }
  void attach(engine::Engine& engine) override { engine_ = &engine; }
  void enter(const std::optional<Actor>& actor) override {
    if (!watches_host_) return;
    if (actor) {
      watch::enter(*actor);
    } else {
      watch::leave();
    }
  }
  void enter_body(const engine::RunningBody& body) override {
    if (!watches_host_) return;
    watch::enter_body({.name = body.name,
                       .site = body.site,
                       .launcher = body.launch.launcher,
                       .phases = body.phases,
                       .own = body.launch.own,
                       .known = body.launch.known},
                      body.frame);
  }
  void note_launch(const void* kernel, engine::Launch& launch) override {
    if (!watches_host_) return;
    watch::LaunchFacts facts = watch::launch_of(launch.launcher, kernel);
    launch.own = std::move(facts.own);
    launch.known = facts.known;
  }
  bool share(std::uint64_t resource, std::span<const std::byte> memory) override {
    if (!watches_host_) return false;
    take_shared();
    detector.share(resource, memory);
    shares_ = watch::share(memory.data(), memory.size(), engine_->watch()->actor());
    return shares_;
  }
  void begin_phase() override {
    if (watches_host_) watch::begin_phase();
  }
  void reach_variable(std::uint32_t number, bool made) override {
    if (!watches_host_) return;
    made ? watch::make_variable(number) : watch::take_variable(number);
  }

  bool watches_host() const { return watches_host_; }
  /// The body is over: questions about the backend are ours from now on.
  watch::HostReport end() {
    over_ = true;
    take_shared();
    return std::exchange(watches_host_, false) ? watch::stop() : watch::HostReport{};
  }
  /// Runs the work that is left.
  void drain() { engine_->drain(); }

  AgentSteps steps;
  RunFacts facts;
  races::RaceDetector detector;
  bool incomplete = false;
  bool used_second_thread = false;

 private:
  // The name is `merge_call "tag"` for a function of the program, else that of belfry's verb.
  static void note_merge(const Operation& operation) {
    if (operation.kind != OperationKind::kMerge) return;
    watch::begin_merge(!operation.name.starts_with("merge_call"));
  }
  // Accesses of host code to shared memory come between the observations around.
  void take_shared() {
    if (!shares_) return;
    try {
      for (const watch::SharedAccess& access : watch::take_shared()) detector.touch(access);
    } catch (const std::bad_alloc&) {
      incomplete = true;
    }
  }

  const std::thread::id thread_ = std::this_thread::get_id();
  engine::Engine* engine_ = nullptr;
  const Scrutiny scrutiny_;
  Observer* const second_;  // The guide's; may be null.
  bool watches_host_;
  bool over_ = false;
  bool shares_ = false;
};

BodyRun::BodyRun(const Options& options, const Attachments& guide, const ExploredBody& body,
                 Scrutiny scrutiny)
    : witness_(std::make_unique<Witness>(scrutiny, scrutiny == Scrutiny::kAll && can_watch(),
                                         guide.observer)),
      backend_(std::make_unique<Backend>(options, Attachments{.chooser = guide.chooser,
                                                              .observer = witness_.get(),
                                                              .trace = guide.trace})) {
  if (options.audit_watch && witness_->watches_host()) watch::start_audit();
  {
    const PresentBody present(backend_.get());
    const UsesBeside beside;
    outcome_ = outcome_of(body, *backend_);
    other_backends_ = present.other_backends();
    if (other_backends_.empty() && beside.any()) other_backends_ = UsesBeside::kText;
    draw_ = present.draw();
    is_nested_ = present.is_nested();
    is_on_fiber_ = runs_on_fiber();
    is_second_ = watch::linked() && !is_nested_ && !is_on_fiber_ && !witness_->watches_host();
  }
  finish(options.record_limit != 0);
}

BodyRun::~BodyRun() = default;

void BodyRun::finish(bool keeps_choices) {
  host_ = witness_->end();
  try {
    if (keeps_choices) token_ = backend_->replay_token();
  } catch (const UnsupportedError&) {  // Too many choices for a token.
  }
  const std::vector<Choice> choices = backend_->choices();
  drew_orders_ = std::ranges::find(choices, ChoiceKind::kOrder, &Choice::kind) != choices.end();
  witness_->drain();
  witness_->steps.add_digests(backend_->log());
}

bool BodyRun::is_recorded() const { return !token_.empty() && log().dropped() == 0; }
bool BodyRun::used_threads() const { return witness_->used_second_thread; }
const Log& BodyRun::log() const { return backend_->log(); }
const AgentSteps& BodyRun::steps() const { return witness_->steps; }
const RunFacts& BodyRun::facts() const { return witness_->facts; }
const races::RaceDetector& BodyRun::detector() const { return witness_->detector; }
bool BodyRun::is_incomplete() const { return witness_->incomplete; }

}  // namespace belfry::sim
