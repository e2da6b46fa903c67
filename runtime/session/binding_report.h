// A binding's report about itself, for the C++ interface.
#pragma once

#include "runtime/bind/binding.h"
#include "sheaf/session.h"

namespace sheaf {

BindingReport report_of(const BindingInfo& info);

}  // namespace sheaf
