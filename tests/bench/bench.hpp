#pragma once

#include <optional>
#include <string>

#include <kvedit/kvedit.hpp>

/// Editing, and editing with views, against building the same views with bare `at::as_strided`.
std::optional<kvedit::Error> bench_edit(const kvedit::Host& host,
                                        const kvedit::Registration& registration, int rounds);

/// Turning block ids into addresses against a plain write of as many bytes.
std::optional<kvedit::Error> bench_addresses(const kvedit::Result& result, int rounds);

void print_ratio(const std::string& what, double ratio, const std::string& remark);
