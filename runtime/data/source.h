// SOURCE of the command line: the origin of the rows of an input or a target.
#pragma once

#include "runtime/data/row_source.h"
#include "sheaf/tensor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sheaf {

/// The range of random:ROWS.
struct RandomRange {
  int64_t below = 0;           ///< integers are from 0 to below it (an embedding's rows, a number of classes); 0: 2
  bool probabilities = false;  ///< floating-point numbers are uniform from 0 to 1, not normal
};

/// The request: an input or target as the model declares it.
struct SourceRequest {
  std::string name;
  DType dtype = DType::float32;
  std::vector<int64_t> shape;  ///< -1 for the batch, which occurs at most once
  uint64_t seed = 0;           ///< of random:ROWS
  RandomRange random = {};
  /// Receives notes about data that is accepted, located at its file; null: nobody listens.
  void (*note)(const Diagnostic&) = nullptr;
};

struct DataSource {
  enum Kind { npy, npz, safetensors, idx, csv, text, tokens, images, classes, random } kind = idx;
  std::string file;
  std::string key;                   ///< npz, safetensors; csv: the columns; tokens: the SOURCE of the array
  int64_t rows = 0;                  ///< random
  std::vector<std::string> options;  ///< images; text and tokens: "next"
};

/// Parses `file.npy`, `file.npz:KEY`, `file.safetensors:KEY`, `file.csv:COLUMNS`, `text:FILE[,next]`, `tokens:SOURCE[,next]`,
/// `images:DIR[,OPTION…]`, `classes:DIR` and `random:ROWS`; any other
/// name is an IDX file's. Errors: rows that aren't a number, a missing KEY (with the archive's names, if readable), an unknown
/// option.
Result<DataSource> parse_source(const std::string& source);

/// The file or folder that parse_source would find in `source`; empty for `random:ROWS`. Reads nothing from it.
std::string file_of_source(const std::string& source);

/// Opens `source` in the request's dtype and shape; the batch dimension gets the size that the source has, and rows are
/// read as they are needed (packed, small or random data is kept in memory). Conversion: see convert(). An IDX file's bytes in
/// two or more dimensions are an image, which becomes float32 / 255, and gets a channel dimension of 1 after its first if the
/// declared shape has one more. Bytes of other files are numbers from 0 to 255, even as floating-point numbers; then there is a
/// note. `random:ROWS` has ROWS along the batch dimension: numbers in the request's range, determined by seed and name. Errors
/// name the source, what was expected and what was found.
Result<std::unique_ptr<RowSource>> open_source(const std::string& source, const SourceRequest& request);

/// The shape of an array in a file, read from its header where it has one; none for sources that take the shape that is requested.
/// Errors: those of open_source().
Result<std::optional<std::vector<int64_t>>> stored_shape(const std::string& source);

/// All rows of a source as a tensor. Errors: those of open_source() and RowSource::read(); too little memory.
Result<HostTensor> load_source(const std::string& source, const SourceRequest& request);

}  // namespace sheaf
