// The options for where and how a plan is executed, which several verbs take: each is declared here once.
#pragma once

#include "runtime/check/lengths.h"
#include "tools/cli/options.h"
#include "sheaf/model.h"

#include <map>
#include <string>

namespace sheaf {

void devices_option(OptionParser& parser);       ///< --devices LIST
void shards_option(OptionParser& parser);        ///< --shards S
void device_model_option(OptionParser& parser);  ///< --device-model NAME, of verbs that only plan
void weights_option(OptionParser& parser);       ///< --weights FILE
void seed_option(OptionParser& parser);          ///< --seed S
void numerics_option(OptionParser& parser);      ///< --numerics KIND
void tune_option(OptionParser& parser);          ///< --tune KIND
void length_option(OptionParser& parser);        ///< --length NAME=N
// For verbs that don't run plans as they are; those that do have all of these in execution_options().
void deterministic_option(OptionParser& parser);  ///< --no-deterministic
void deadline_option(OptionParser& parser);       ///< --deadline SECONDS
void bytes_option(OptionParser& parser);          ///< --bytes NAME[,NAME]
/// --no-graphs, --no-deterministic and --deadline, under their own heading.
void execution_options(OptionParser& parser);

/// The value of --device-model; empty if absent. Errors are the command line's fault.
Result<std::string> device_model_of(const Options& options);

/// The value of --shards; 0 if absent. Errors are the command line's fault.
Result<int> shards_of(const Options& options);

/// The values of --shards, --numerics, --tune, --no-graphs, --no-deterministic and --deadline. Errors are the command line's
/// fault.
Result<BindOptions> bind_options(const Options& options);

/// The values of --length. Errors are the command line's fault.
Result<LengthNumbers> lengths_of_options(const Options& options);

/// Numbers for the plan's lengths: those of `given` and of the shapes of `sources`, by the name of an input or target. Errors: a source
/// that can't be read or has another number of dimensions; two that give a length two numbers; a length that has none; a number for
/// what is no length.
Result<LengthNumbers> numbers_for(const Plan& plan, const LengthNumbers& given,
                                  const std::map<std::string, std::string>& sources);

/// The plan with numbers for its lengths: those of `given` and of the shapes of `sources`, by the name of an input or target. A plan
/// without lengths stays as it is, if none is given. Errors: those of with_lengths(); a source that can't be read or has another
/// number of dimensions; two that give a length two numbers.
Result<Plan> sized(Plan plan, const LengthNumbers& given, const std::map<std::string, std::string>& sources = {});

}  // namespace sheaf
