// Rows that are the pictures of a folder, or their classes.
#pragma once

#include "runtime/data/row_source.h"
#include "runtime/data/source.h"

namespace sheaf {

/// `images:DIR,…`: [batch, C, H, W], C being 3 (red, green, blue) or 1 (grey). uint8 are the bytes; floating-point numbers are those
/// from 0 to 1, after mean and deviation. Errors: those of ImageFolder::open() and parse_image_options(); another shape or dtype.
Result<std::unique_ptr<RowSource>> open_images(const DataSource& source, const std::string& text, const SourceRequest& request);

/// `classes:DIR`: [batch], integers: the numbers of the pictures' classes, from 0 in the order of their names. Errors: likewise; the
/// pictures have no classes.
Result<std::unique_ptr<RowSource>> open_classes(const DataSource& source, const std::string& text,
                                                const SourceRequest& request);

}  // namespace sheaf
