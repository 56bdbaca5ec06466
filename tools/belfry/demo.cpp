// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "demo.h"

#include "batch.h"
#include "belfry/error.h"
#include "belfry/sim/cluster.h"
#include "belfry/strategies.h"
#include "belfry/trace.h"
#include "digits.h"
#include "lessons.h"
#include "linear_model.h"
#include "shuffle.h"
#include "trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace belfry::demo {
namespace {

constexpr int kLinearSteps = 20;
// The steps of a trace: a page shows no more.
constexpr std::uint64_t kTracedSteps = 50'000;

// Totals of all steps of a training.
struct Totals {
  int steps = 0;
  int outside = 0;  // Steps with a difference beyond its bound.
  double worst_gradient = 0;
  double worst_weight = 0;
  bool finite = true;

  void add(const StepReport& step) {
    ++steps;
    outside += step.finite && !step.within_bounds() ? 1 : 0;
    worst_gradient = std::max(worst_gradient, step.worst_gradient);
    worst_weight = std::max(worst_weight, step.worst_weight);
    finite = finite && step.finite;
  }
};

// Paths below the current folder are shown relative to it.
std::string shown_path(const std::string& path) {
  std::error_code ignored;
  const std::string near = std::filesystem::proximate(path, ignored).string();
  return near.empty() || near.starts_with("..") ? path : near;
}

std::string percent(int part, int whole) { return fmt::format("{:.2f} %", 100.0 * part / whole); }

// How a batch is split: `16+16+16+16`, cut short for many replicas.
std::string shares(int rows, int replicas) {
  const std::vector<int> batch(static_cast<std::size_t>(rows));
  std::string text;
  for (int replica = 0; replica < replicas; ++replica) {
    if (replica == 8) return text + "+...";
    text += (replica == 0 ? "" : "+") + std::to_string(share(batch, replica, replicas).size());
  }
  return text;
}

std::string order_of(Strategy& strategy) {
  const ReductionOrder order = strategy.cross_replica().core().reductions().tensor_order();
  return order == ReductionOrder::kUnspecified ? "the hardware's order" : to_string(order);
}

// The words for what the demo runs on.
struct Setting {
  std::string strategy;
  std::string devices;  // `4 simulated devices`.
  std::string claim;    // The meaning of results; empty without a remark.
};

class Demo {
 public:
  Demo(const DemoOptions& options, Console& console, Strategy& strategy, const Setting& setting)
      : options_(options),
        console_(console),
        setting_(setting),
        digits_(read_digits(options.file)),
        split_(split(digits_.count(), options.seed)),
        strategy_(strategy),
        trainer_(strategy_, digits_,
                 {.seed = options.seed,
                  .rate = static_cast<float>(options.rate),
                  .dropped_replica = options.dropped_replica}) {}

  bool run() {
    introduce();
    train();
    const StrategyStatistics trained = strategy_.statistics();
    bool good = judge();
    good = compare_integers() && good;
    report_reductions(trained);
    return good;
  }

 private:
  void introduce() {
    const int batch = std::min(options_.batch, static_cast<int>(split_.training.size()));
    const int last = static_cast<int>(split_.training.size()) % batch;
    console_.heading(fmt::format("Training on handwritten digits with {}", setting_.devices));
    console_.line(fmt::format("data      {}: {} images, {} to train on and {} held out (seed {})",
                              shown_path(options_.file), digits_.count(), split_.training.size(),
                              split_.held_out.size(), options_.seed));
    console_.line("model     perceptron 64-64-10, ReLU, softmax cross-entropy: 4810 weights");
    std::string steps = fmt::format("batches of {} as {}", batch, shares(batch, options_.replicas));
    if (last != 0) {
      steps += fmt::format(", the last of {} as {}", last, shares(last, options_.replicas));
    }
    console_.line(fmt::format("strategy  {}, {} replica{}; gradients added up in {}",
                              setting_.strategy, options_.replicas,
                              options_.replicas == 1 ? "" : "s", order_of(strategy_)));
    console_.line("steps     " + steps);
    console_.line(fmt::format("          rate {}, momentum 0.9; each is repeated on one device",
                              options_.rate));
    console_.line();
    console_.line("epoch   loss     held-out accuracy");
  }

  void train() {
    for (int epoch = 1; epoch <= options_.epochs && totals_.finite; ++epoch) {
      const double loss = train_epoch(epoch);
      correct_ = trainer_.count_correct(split_.held_out);
      if (!totals_.finite) break;
      console_.line(fmt::format("{:5}   {:.4f}   {:>7}", epoch, loss,
                                percent(correct_, static_cast<int>(split_.held_out.size()))));
    }
    console_.line();
  }

  // Returns the mean loss over the epoch's images.
  double train_epoch(int epoch) {
    const auto order = shuffled(static_cast<int>(split_.training.size()), options_.seed,
                                static_cast<std::uint64_t>(epoch));
    std::vector<int> images;
    images.reserve(order.size());
    for (const int place : order)
      images.push_back(split_.training[static_cast<std::size_t>(place)]);
    const std::span<const int> all(images);
    double loss = 0;
    const auto batch = static_cast<std::size_t>(options_.batch);
    for (std::size_t first = 0; first < all.size() && totals_.finite; first += batch) {
      const auto rows = all.subspan(first, std::min(batch, all.size() - first));
      const StepReport step = trainer_.step(rows);
      loss += step.loss * static_cast<double>(rows.size()) / static_cast<double>(all.size());
      totals_.add(step);
      console_.progress(fmt::format(
          "epoch {} of {}: {:3.0f} %", epoch, options_.epochs,
          100.0 * static_cast<double>(first + rows.size()) / static_cast<double>(all.size())));
    }
    return loss;
  }

  // Prints the verdicts on the training.
  bool judge() {
    const auto held_out = static_cast<int>(split_.held_out.size());
    if (!totals_.finite) {
      console_.verdict(false, "the loss or a weight is no longer finite: try a smaller --rate");
      return false;
    }
    console_.result(fmt::format("accuracy  {} of the held-out images ({} of {})",
                                percent(correct_, held_out), correct_, held_out));
    console_.result(fmt::format("weights   digest {:016x}", trainer_.digest()));
    if (!setting_.claim.empty()) console_.result("claim     " + setting_.claim);
    const bool within = totals_.outside == 0;
    console_.verdict(
        within,
        within ? fmt::format("{} steps match one device: gradients within {:.2f} of their rounding "
                             "bound, weights {:.2f}",
                             totals_.steps, totals_.worst_gradient, totals_.worst_weight)
               : fmt::format(
                     "{} of {} steps differ from one device: gradients by up to {:.3g} times "
                     "their rounding bound, weights {:.3g}",
                     totals_.outside, totals_.steps, totals_.worst_gradient, totals_.worst_weight));
    return within;
  }

  bool compare_integers() {
    const LinearReport report =
        train_linear_model(strategy_, digits_, split_.training, kLinearSteps);
    const bool equal = report.different == 0;
    console_.verdict(
        equal,
        equal ? fmt::format("{} steps of a linear model in whole numbers match bit for bit ({} "
                            "numbers)",
                            report.steps, report.compared)
              : fmt::format("{} of {} whole numbers differ from those of one device",
                            report.different, report.compared));
    return equal;
  }

  // Leaves out bytes moved between devices, which depend on the backend's way of reducing.
  void report_reductions(const StrategyStatistics& done) {
    console_.line(
        fmt::format("reduced   training took {} merges and {} reductions of {} tensors and {} host "
                    "values: {} bytes of inputs",
                    done.merges, done.reduction.reductions, done.reduction.tensor_leaves,
                    done.reduction.host_leaves, done.reduction.bytes));
  }

  const DemoOptions& options_;
  Console& console_;
  const Setting& setting_;
  Digits digits_;
  Split split_;
  Strategy& strategy_;
  Trainer trainer_;
  Totals totals_;
  int correct_ = 0;
};

bool train_here(const DemoOptions& options, Console& console, TraceFile* trace) {
  const DemoBackend made =
      make_demo_backend(options.backend, options.replicas, options.seed, trace);
  MirroredStrategy strategy(*made.backend);
  const Setting setting{"MirroredStrategy", made.devices, made.claim};
  return Demo(options, console, strategy, setting).run();
}

// The devices of a host or process, of which there are `count`.
int devices_of(int rank, int count, int replicas) {
  return replicas / count + (rank < replicas % count ? 1 : 0);
}

// Process 0 alone prints.
class Among {
 public:
  Among(const DemoOptions& options, Console& console, std::string places)
      : options_(options),
        console_(console),
        setting_{"MultiWorkerMirroredStrategy",
                 fmt::format("{} simulated devices of {}", options.replicas, places), ""} {}

  bool train(Backend& backend, ProcessGroup& group) {
    MultiWorkerMirroredStrategy strategy(backend, group);
    return Demo(options_, group.rank() == 0 ? console_ : silent_, strategy, setting_).run();
  }

 private:
  const DemoOptions& options_;
  Console& console_;
  Setting setting_;
  std::ostringstream nowhere_;
  Console silent_{nowhere_, nowhere_, {.quiet = true}};
};

bool train_on_hosts(const DemoOptions& options, Console& console, TraceFile* trace) {
  std::vector<int> devices;
  for (int host = 0; host < options.hosts; ++host) {
    devices.push_back(devices_of(host, options.hosts, options.replicas));
  }
  Among hosts(options, console, fmt::format("{} simulated hosts", options.hosts));
  const sim::ClusterOptions cluster_options{.devices_of = devices, .seed = options.seed};
  std::optional<sim::Cluster> cluster;
  if (trace != nullptr) {
    cluster.emplace(cluster_options, *trace);
  } else {
    cluster.emplace(cluster_options);
  }
  bool good = true;
  cluster->run([&](sim::Host& host) { good = hosts.train(host.backend(), host.group()) && good; });
  return good;
}

bool train_among_processes(const DemoOptions& options, Console& console, TraceFile* trace) {
  ProcessGroup& group = *options.group;
  const int own = devices_of(group.rank(), group.size(), options.replicas);
  if (options.replicas < group.size()) {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument,
        fmt::format("{} replicas for {} processes", options.replicas, group.size()),
        "each process needs a replica: ask for more replicas");
  }
  const DemoBackend made = make_demo_backend(options.backend, own, options.seed, trace);
  Among processes(options, console, fmt::format("{} processes", group.size()));
  return processes.train(*made.backend, group);
}

bool train(const DemoOptions& options, Console& console, TraceFile* trace) {
  if (options.group != nullptr) return train_among_processes(options, console, trace);
  return options.hosts == 1 ? train_here(options, console, trace)
                            : train_on_hosts(options, console, trace);
}

// Processes have a trace each.
bool train_traced(const DemoOptions& options, Console& console) {
  const int rank = options.group == nullptr ? 0 : options.group->rank();
  std::string path = options.trace;
  if (options.group != nullptr) path += fmt::format(".{}", rank);
  TraceFile trace(path, {.max_steps = kTracedSteps, .program = "belfry demo"});
  const bool good = train(options, console, &trace);
  trace.close();
  if (rank == 0) console.line(fmt::format("trace     {}: see `belfry view`", shown_path(path)));
  return good;
}

}  // namespace

ExitCode run_demo(const DemoOptions& options, Console& console) {
  const bool good =
      options.trace.empty() ? train(options, console, nullptr) : train_traced(options, console);
  if (options.group != nullptr && options.group->rank() != 0) {
    return good ? ExitCode::kGood : ExitCode::kMismatch;
  }
  show_lessons(options, console);
  return good ? ExitCode::kGood : ExitCode::kMismatch;
}

}  // namespace belfry::demo
