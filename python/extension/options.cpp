// Options of binding and running.
#include "python/extension/bindings.h"
#include "python/extension/errors.h"

namespace nb = nanobind;

namespace sheaf::python {

BindOptions bind_options(const std::string& numerics, bool deterministic, int threads, int64_t micro_batches,
                         std::optional<int> shards, const std::string& tune) {
  if (numerics != "strict" && numerics != "fast") raise(Error("numerics '" + numerics + "': expected strict or fast"));
  if (threads < 0) raise(Error("threads " + std::to_string(threads) + ": expected 0, for all that there are, or more"));
  if (micro_batches < 1) raise(Error("micro_batches " + std::to_string(micro_batches) + ": expected 1 or more"));
  if (shards && *shards < 1) raise(Error("shards " + std::to_string(*shards) + ": expected 1 or more, or None"));
  if (tune != "off" && tune != "quick" && tune != "full") raise(Error("tune '" + tune + "': expected off, quick or full"));
  BindOptions options;
  options.tune = tune == "quick" ? Tune::quick : tune == "full" ? Tune::full : Tune::off;
  options.fast_numerics = numerics == "fast";
  options.deterministic = deterministic;
  options.threads = threads;
  options.micro_batches = micro_batches;
  options.shards = shards.value_or(0);
  return options;
}

std::map<std::string, std::optional<int64_t>> largest_numbers(const std::vector<Length>& lengths) {
  std::map<std::string, std::optional<int64_t>> numbers;
  for (const Length& length : lengths) numbers[length.name] = length.largest ? std::optional(length.largest) : std::nullopt;
  return numbers;
}

RunOptions run_options() {
  RunOptions options;
  options.print = [](std::string_view line) {
    const nb::gil_scoped_acquire gil;
    try {
      nb::module_::import_("sys").attr("stdout").attr("write")(nb::str(line.data(), line.size()));
    } catch (nb::python_error& problem) {
      problem.discard_as_unraisable("a Print layer's line");
    }
  };
  return options;
}

}  // namespace sheaf::python
