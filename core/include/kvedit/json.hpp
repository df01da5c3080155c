#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <kvedit/error.hpp>
#include <kvedit/export.hpp>
#include <kvedit/host.hpp>
#include <kvedit/registration.hpp>
#include <kvedit/result.hpp>

namespace kvedit {

struct ReadLimits {
  std::size_t depth = 64;
  std::size_t bytes = std::size_t{256} << 20;
};

/// Reads `kvedit.registration/1`. The error's `where` is a JSON pointer.
KVEDIT_API Expected<Registration> read_registration(std::string_view text,
                                                    const ReadLimits& limits = {});

/// Writes `kvedit.registration/1`; `read_registration` gives the same data back.
KVEDIT_API std::string write_registration(const RegistrationData& data);

/// Writes `kvedit.report/1`, ending with a newline. The same result gives the same bytes.
KVEDIT_API std::string write_report(const Result& result);

/// Writes what `kvedit rules --json` shows: the rules in effective order and every pack found, with
/// paths and reasons (`kvedit.rules/1`).
KVEDIT_API std::string write_rules(const Host& host);

}  // namespace kvedit
