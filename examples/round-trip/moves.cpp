#include "moves.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using kvedit::AddressMap;
using kvedit::Error;
using kvedit::Expected;
using kvedit::Extent;

namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

void* pointer(const Extent& extent) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(extent.address));
}

std::optional<Error> failed(const char* what) {
  return Error{"temporary file", std::string(what) + " failed: " + std::strerror(errno)};
}

std::optional<Error> store(std::FILE* file, std::span<const Extent> extents) {
  for (const Extent& each : extents)
    if (std::fwrite(pointer(each), 1, each.length, file) != each.length) return failed("writing");
  return std::nullopt;
}

std::optional<Error> bring_back(std::FILE* file, std::span<const Extent> extents) {
  std::rewind(file);
  for (const Extent& each : extents)
    if (std::fread(pointer(each), 1, each.length, file) != each.length) return failed("reading");
  if (std::fgetc(file) != EOF) return Error{"temporary file", "bytes are left over"};
  return std::nullopt;
}

// Runs of bytes of `tensor[index]`, in the order of its elements.
template <class Visit>
void each_run(const at::TensorBase& tensor, std::byte* first, std::size_t axis, const Visit& visit) {
  const auto item = static_cast<std::int64_t>(tensor.element_size());
  const auto rank = static_cast<std::size_t>(tensor.dim());
  if (axis == rank) return visit(first, static_cast<std::size_t>(item));
  if (axis + 1 == rank && tensor.strides()[axis] == 1)
    return visit(first, static_cast<std::size_t>(tensor.sizes()[axis] * item));
  for (std::int64_t i = 0; i < tensor.sizes()[axis]; ++i)
    each_run(tensor, first + i * tensor.strides()[axis] * item, axis + 1, visit);
}

// An id beyond the first axis has no entry.
template <class Visit>
void each_run_of_entry(const at::TensorBase& tensor, std::int64_t id, const Visit& visit) {
  if (id >= tensor.sizes()[0]) return;
  const auto item = static_cast<std::int64_t>(tensor.element_size());
  auto* first = static_cast<std::byte*>(tensor.data_ptr());
  each_run(tensor, first + id * tensor.strides()[0] * item, 1, visit);
}

const kvedit::torch::LayerTensors& tensors_of(const RegisteredMemory& memory,
                                              std::string_view layer) {
  for (const kvedit::torch::LayerTensors& each : memory.tensors())
    if (each.layer == layer) return each;
  std::abort();  // every served layer has tensors
}

}  // namespace

Expected<std::int64_t> move_by_pages(const kvedit::Result& result, const RegisteredMemory& memory,
                                     const Stage& stage, kvedit::Order order) {
  const Expected<AddressMap> map =
      AddressMap::make(result, stage.layers(), memory.bases(), order);
  if (!map) return map.error();
  const Expected<std::vector<Extent>> from = map->extents(stage.move().from);
  const Expected<std::vector<Extent>> to = map->extents(stage.move().to);
  if (!from || !to) return from ? to.error() : from.error();

  const File file(std::tmpfile());
  if (!file) return *failed("opening");
  if (auto wrong = store(file.get(), *from)) return *std::move(wrong);
  for (const Extent& each : *from) std::memset(pointer(each), 0, each.length);
  if (auto wrong = bring_back(file.get(), *to)) return *std::move(wrong);
  return static_cast<std::int64_t>(std::ftell(file.get()));
}

std::int64_t move_by_index(const kvedit::Result& result, const RegisteredMemory& memory,
                           const Stage& stage) {
  std::vector<std::vector<std::byte>> entries;
  std::int64_t copied = 0;
  for (const std::size_t layer : stage.layers())
    for (const at::TensorBase& tensor : tensors_of(memory, result.layer(layer).name()).tensors)
      for (const std::int64_t id : stage.move().from) {
        entries.emplace_back();
        each_run_of_entry(tensor, id, [&](std::byte* bytes, std::size_t length) {
          entries.back().insert(entries.back().end(), bytes, bytes + length);
          std::memset(bytes, 0, length);
        });
        copied += static_cast<std::int64_t>(entries.back().size());
      }
  auto entry = entries.begin();
  for (const std::size_t layer : stage.layers())
    for (const at::TensorBase& tensor : tensors_of(memory, result.layer(layer).name()).tensors)
      for (const std::int64_t id : stage.move().to) {
        std::span<const std::byte> left = *entry++;
        if (left.empty()) continue;
        each_run_of_entry(tensor, id, [&](std::byte* bytes, std::size_t length) {
          std::memcpy(bytes, left.data(), length);
          left = left.subspan(length);
        });
      }
  return copied;
}
