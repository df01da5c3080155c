#pragma once

#include <string>
#include <string_view>

#include <kvedit/host.hpp>
#include <kvedit/registration.hpp>

#include "bytes.hpp"

/// What the fuzzers and the replay of their corpus hold true of any bytes at all.
namespace kvedit::fuzz {

/// Text that is read is written and read as the same; text that is not read has a reason.
/// Gives what is wrong, or nothing.
std::string reader_fault(std::string_view text);

/// A registration made of the bytes: a JSON text when they begin like one, else a drawn layout that
/// the rest of the bytes damages. It is edited in every profile and purpose; every result keeps its
/// promises, and what is served is served as the definition says.
std::string edit_fault(std::string_view bytes);

/// Does as many changes as there are bytes for, a dozen at most.
void damage(RegistrationData& data, Bytes& bytes);

/// A host with the standard rules, opened once.
const Host& host();

}  // namespace kvedit::fuzz
