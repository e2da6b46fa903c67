// What a binding says about itself, as the C++ interface shows it.
#pragma once

#include "runtime/bind/binding.h"
#include "sheaf/session.h"

namespace sheaf {

BindingReport report_of(const BindingInfo& info);

}  // namespace sheaf
