// Any number of rows, sent through a model in batches.
#pragma once

#include "runtime/device/device_set.h"
#include "runtime/training/dataset.h"
#include "sheaf/tensor.h"
#include "sheaf/model.h"

#include <memory>
#include <vector>

namespace sheaf {

struct RowsOptions {
  int64_t batch_size = 0;  ///< rows per batch; 0: all at once. The last batch has the remaining rows
  BindOptions bind;
  RunOptions run;
};

/// Runs `model` on all rows of `inputs`, whose values are model.inputs(), and which are read a batch ahead, and returns its
/// outputs, each concatenated along the dimension that depends on the batch. Errors: an input whose shape or dtype isn't the
/// model's, several batches if an output has no dimension to concatenate along, and those of binding, reading and running.
/// Without a batched input there is one batch of `batch_size` rows, or of one. `inputs` gives bytes from here on where the model
/// takes them (BindOptions::bytes).
Result<std::vector<HostTensor>> run_rows(const Model& model, std::shared_ptr<const DeviceSet> devices, Dataset& inputs,
                                         const RowsOptions& options);

}  // namespace sheaf
