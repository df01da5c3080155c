#include "memory.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace kvedit::verify {
namespace {

std::string limit_of_address_space() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return "; where vm.overcommit_memory is 2, set it to 0 or 1";
  return "; the limit for the whole process is " + std::to_string(limit.rlim_cur) +
         " bytes: raise it (ulimit -v)";
}

}  // namespace

Mapping::Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

Expected<Mapping> Mapping::reserve(const std::string& what, std::int64_t bytes) {
  if (bytes <= 0) return Mapping();
  const auto length = static_cast<std::size_t>(bytes);
  void* address = mmap(nullptr, length, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    return Error{what, std::to_string(bytes) + " bytes of address space cannot be reserved (" +
                           std::strerror(errno) + ")" + limit_of_address_space()};
  // Huge pages would commit 2 MiB for each byte touched.
  madvise(address, length, MADV_NOHUGEPAGE);
  return Mapping(std::span(static_cast<std::byte*>(address), length));
}

void Mapping::clear() const {
  if (!bytes_.empty()) madvise(bytes_.data(), bytes_.size(), MADV_DONTNEED);
}

Expected<Memory> Memory::like(const Registration& registration) {
  Memory memory;
  for (const Storage& storage : registration.data().storages) {
    Expected<Mapping> mapping = Mapping::reserve("storage " + storage.name, storage.nbytes);
    if (!mapping) return mapping.error();
    memory.mappings_.push_back(*std::move(mapping));
  }
  return memory;
}

std::vector<std::uint64_t> Memory::bases() const {
  std::vector<std::uint64_t> bases;
  for (const Mapping& each : mappings_)
    bases.push_back(reinterpret_cast<std::uintptr_t>(each.bytes().data()));
  return bases;
}

std::uint64_t Memory::reserved_bytes() const {
  std::uint64_t bytes = 0;
  for (const Mapping& each : mappings_) bytes += each.bytes().size();
  return bytes;
}

void Memory::clear() const {
  for (const Mapping& each : mappings_) each.clear();
}

}  // namespace kvedit::verify
