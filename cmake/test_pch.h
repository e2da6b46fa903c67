// The precompiled header of test programs.
#pragma once

#include "cmake/runtime_pch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
