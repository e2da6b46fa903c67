#include "runtime/training/checkpoint.h"

#include "runtime/base/joined.h"
#include "runtime/plan/serialize.h"
#include "runtime/base/sha256.h"
#include "runtime/training/checkpoint_json.h"

namespace sheaf {

std::string plan_hash(const Plan& plan) {
  // All fields are named, so that a new one does not compile until it is decided here whether it counts.
  const auto& [file, producer, name, precision, requires_, regions, parameters, state, kernels, objects, infer, infer_graph,
               train, train_graph, accumulate, update, accumulate_graph, update_graph, forward, backward, forward_graph,
               backward_graph, train_ir, accumulate_ir, forward_ir, backward_ir, ir, training] = plan;
  Plan same;
  same.producer = producer;
  same.name = name;
  same.precision = precision;
  same.regions = regions;
  same.parameters = parameters;
  same.state = state;
  same.infer = infer;
  same.infer_graph = infer_graph;
  same.training = training;
  return sha256(serialize(same));
}

Result<void> write_checkpoint(const Folder& folder, const std::string& name, const Checkpoint& checkpoint,
                              std::span<const TensorView> tensors) {
  return write_checked(folder, name, json_of(checkpoint), tensors);
}

Result<CheckpointFile> CheckpointFile::open(const Folder& folder, const std::string& name) {
  SHEAF_ASSIGN(auto opened, CheckedFile::open(folder, name));
  auto checkpoint = checkpoint_of(opened.content());
  if (!checkpoint) return opened.unsound(checkpoint.error().message());
  return CheckpointFile(std::move(opened), std::move(*checkpoint));
}

Result<void> check_same_plan(const std::string& file, const SavedProgress& then, const std::string& plan,
                             const std::string& model) {
  if (then.plan == plan) return {};
  return Error({file, 0, 0}, "can't be resumed from: it is of another plan (model '" + then.model + "', SHA-256 " +
                                 then.plan.substr(0, 12) + "…; this one is of model '" + model + "', " + plan.substr(0, 12) +
                                 "…)")
      .note("train on with the plan file that the run began with; a changed model can start from its weights with --weights");
}

Result<void> check_same_run(const std::string& file, const RunIdentity& then, const RunIdentity& now) {
  const auto refuse = [&](const std::string& why) { return Error({file, 0, 0}, "can't be resumed from: " + why); };
  SHEAF_TRY(check_same_plan(file, {then.plan, then.model, {}}, now.plan, now.model));
  const auto differ = [&](const char* what, auto before, auto after) {
    return refuse(std::string("its ") + what + " is " + std::to_string(before) + ", this run's is " + std::to_string(after));
  };
  if (then.batch_size != now.batch_size) return differ("--batch-size", then.batch_size, now.batch_size);
  if (then.micro_batches != now.micro_batches) return differ("--micro-batches", then.micro_batches, now.micro_batches);
  if (then.seed != now.seed) return differ("--seed", then.seed, now.seed);
  if (then.rows != now.rows) return differ("number of rows", then.rows, now.rows);
  if (then.data != now.data)
    return refuse("its rows (--data) had another content than this run's: their CRC-32 sums differ")
        .note("to train on with other data, begin a new run from its weights (--weights)");
  if (then.shuffle != now.shuffle)
    return refuse(then.shuffle ? "its rows were shuffled, this run has --no-shuffle"
                               : "its rows were not shuffled (--no-shuffle), this run's are");
  if (then.drop_last != now.drop_last)
    return refuse(then.drop_last ? "it dropped the rows left over at an epoch's end (--drop-last), this run doesn't"
                                 : "it took the rows left over at an epoch's end, this run drops them (--drop-last)");
  return {};
}

std::vector<std::string> rounding_differences(const RunIdentity& then, const RunIdentity& now) {
  std::vector<std::string> differences;
  const auto compare = [&](const char* what, const std::string& before, const std::string& after) {
    if (before != after) differences.push_back(std::string(what) + " " + before + " then, " + after + " now");
  };
  const auto shards = [](const RunIdentity& run) { return run.shards > 0 ? std::to_string(run.shards) : "as many as devices"; };
  compare("shards", shards(then), shards(now));
  if (then.shards != now.shards || now.shards == 0) compare("devices", joined(then.devices, ","), joined(now.devices, ","));
  compare("numerics", then.numerics, now.numerics);
  compare("CPU", then.cpu, now.cpu);
  const auto chosen = [](const RunIdentity& run) {
    return run.choices.empty() ? "by the model of costs" : "measured, " + run.choices;
  };
  compare("implementations", chosen(then), chosen(now));
  return differences;
}

}  // namespace sheaf
