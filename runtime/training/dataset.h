// The rows that a model is trained or evaluated on: one tensor for each input and target, in host memory.
#pragma once

#include "runtime/data/source.h"
#include "sheaf/tensor.h"
#include "runtime/plan/plan.h"
#include "sheaf/model.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

/// The inputs, then the targets, of a plan's train program.
std::vector<ValueInfo> training_values(const Plan& plan);

class Dataset {
 public:
  /// Loads the source of each of `values`. Errors: those of load_source; a number of rows that differs between two of
  /// them (both are named); no rows; no value with a dimension that is the batch. `random:ROWS` draws with `seed`,
  /// and random numbers of `name` in `ranges[name]`. `note` receives load_source's notes.
  static Result<Dataset> load(std::vector<ValueInfo> values, const std::map<std::string, std::string>& sources, uint64_t seed,
                              const std::map<std::string, RandomRange>& ranges, void (*note)(const Diagnostic&) = nullptr);
  /// From loaded tensors, one for each value.
  static Result<Dataset> make(std::vector<ValueInfo> values, std::vector<HostTensor> tensors);

  int64_t rows() const { return rows_; }
  const std::vector<ValueInfo>& values() const { return values_; }
  const HostTensor& tensor(size_t index) const { return tensors_[index]; }
  /// CRC-32 over all of it, in order.
  uint32_t checksum() const;
  /// The shape of `rows` rows of tensor `index`; its own if it has no rows.
  std::vector<int64_t> batch_shape(size_t index, int64_t rows) const;

  /// Copies rows order[0], order[1], … of tensor `index` to `to`, which has the size of batch_shape(index,
  /// order.size()). A tensor without rows is copied whole.
  void gather(size_t index, std::span<const int64_t> order, std::byte* to) const;

 private:
  struct Layout {
    bool rows = false;     ///< it has a dimension that is the batch
    size_t outer = 1;      ///< runs of rows
    size_t row_bytes = 0;  ///< of one row within a run
  };
  std::vector<ValueInfo> values_;
  std::vector<HostTensor> tensors_;
  std::vector<Layout> layouts_;
  int64_t rows_ = 0;
};

}  // namespace sheaf
