// The rows on which a model is run, trained or evaluated: a source for each input and target, read batch by batch.
#pragma once

#include "runtime/data/source.h"
#include "runtime/plan/plan.h"
#include "sheaf/model.h"
#include "sheaf/tensor.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

/// The inputs, then the targets, of a plan's train program.
std::vector<ValueInfo> training_values(const Plan& plan);

class Dataset {
 public:
  /// Opens the source of each of `values`. Errors: those of open_source; a number of rows that differs between two of
  /// them (both are named). `random:ROWS` and augmentation draw with `seed`, and random numbers for `name` in `ranges[name]`.
  /// `note` receives open_source's notes.
  static Result<Dataset> open(std::vector<ValueInfo> values, const std::map<std::string, std::string>& sources, uint64_t seed,
                              const std::map<std::string, RandomRange>& ranges, void (*note)(const Diagnostic&) = nullptr);
  /// From tensors in memory, one for each value.
  static Result<Dataset> make(std::vector<ValueInfo> values, std::vector<HostTensor> tensors);

  /// 0 if nothing has rows.
  int64_t rows() const { return rows_; }
  /// Some value has a dimension that is the batch.
  bool has_rows() const { return rows_of_ >= 0; }
  /// Error: there are no rows to train or evaluate on.
  Result<void> require_rows() const;
  const std::vector<ValueInfo>& values() const { return values_; }
  const RowSource& source(size_t index) const { return *sources_[index]; }
  /// By name: what the bytes stand for that float32 values are made from (BindOptions::bytes).
  std::map<std::string, ByteNumbers> numbers() const;
  /// From here on batches have, of such values, the bytes, where `taken`, in the order of values(), has uint8.
  void give_bytes(std::span<const ValueInfo> taken);
  /// A CRC-32 of all sources' fingerprints. Errors: those of RowSource::fingerprint().
  Result<uint32_t> fingerprint() const;

 private:
  static Result<Dataset> of(std::vector<ValueInfo> values, std::vector<std::unique_ptr<RowSource>> sources);
  std::vector<ValueInfo> values_;
  std::vector<std::unique_ptr<RowSource>> sources_;
  int64_t rows_ = 0;
  int rows_of_ = -1;  ///< the first value that has rows
};

}  // namespace sheaf
