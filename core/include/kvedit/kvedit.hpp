#pragma once

#include <kvedit/addresses.hpp>
#include <kvedit/diff.hpp>
#include <kvedit/explain.hpp>
#include <kvedit/host.hpp>
#include <kvedit/json.hpp>
#include <kvedit/printable.hpp>
#include <kvedit/registration.hpp>
#include <kvedit/result.hpp>
#include <kvedit/version.hpp>
