#include "given.hpp"

#include <functional>

using namespace kvedit;
using Catch::Contains;
using kvedit::torch::LayerTensors;
using kvedit::torch::TensorsByLayer;

namespace {

const std::string attention = "model.layers.3.self_attn.attn";

LayerTensors& of(TensorsByLayer& tensors, const std::string& layer) {
  for (LayerTensors& each : tensors)
    if (each.layer == layer) return each;
  throw std::runtime_error("no layer " + layer);
}

/// The message of the refusal of tensors that `change` made wrong.
std::string refusal(const Given& given, const std::function<void(TensorsByLayer&)>& change) {
  TensorsByLayer tensors = given.memory.tensors();
  change(tensors);
  const auto views = kvedit::torch::make_views(given.result, tensors);
  return views ? "not refused" : views.error().text();
}

at::TensorBase with(const at::TensorBase& tensor,
                    const std::function<void(std::vector<std::int64_t>& shape,
                                             std::vector<std::int64_t>& stride,
                                             std::int64_t& storage_offset)>& change) {
  std::vector<std::int64_t> shape = tensor.sizes().vec();
  std::vector<std::int64_t> stride = tensor.strides().vec();
  std::int64_t offset = tensor.storage_offset();
  change(shape, stride, offset);
  return tensor_like(tensor, tensor.storage(), shape, stride, offset, tensor.scalar_type());
}

/// A storage over some of the memory of another, which it does not own.
c10::Storage borrowed(const Given& given, std::size_t storage, std::size_t begin,
                      std::size_t length) {
  void* address = given.memory.storage(storage).data() + begin;
  return c10::Storage(c10::Storage::use_byte_size_t(), length,
                      c10::DataPtr(address, c10::Device(c10::kCPU)), nullptr, false);
}

at::TensorBase over(const at::TensorBase& tensor, const c10::Storage& storage) {
  return tensor_like(tensor, storage, tensor.sizes().vec(), tensor.strides().vec(),
                     tensor.storage_offset(), tensor.scalar_type());
}

}  // namespace

TEST_CASE("a tensor of other shape, stride, offset or dtype is refused with both") {
  const Given given("qwen3.5-0.8b-flashinfer-nhd");
  const auto changed = [&](auto change) {
    return refusal(given, [&](TensorsByLayer& tensors) {
      at::TensorBase& tensor = of(tensors, attention).tensors[0];
      tensor = with(tensor, change);
    });
  };
  CHECK_THAT(changed([](auto& shape, auto&, auto&) { shape[0] = 1087; }),
             Contains(attention) && Contains("[1087, 2, 32, 512]") &&
                 Contains("[1088, 2, 32, 512]"));
  CHECK_THAT(changed([](auto&, auto& stride, auto&) { stride[0] = 32767; }),
             Contains(attention) && Contains("[32767, 512, 1024, 1]") &&
                 Contains("[32768, 512, 1024, 1]"));
  CHECK_THAT(changed([](auto& shape, auto&, auto& offset) {
               offset = 1;
               shape[0] = 1088;
             }),
             Contains(attention) && Contains("storage offset 1;") &&
                 Contains("storage offset 0: "));
  CHECK_THAT(refusal(given,
                     [&](TensorsByLayer& tensors) {
                       at::TensorBase& tensor = of(tensors, attention).tensors[0];
                       tensor = tensor_like(tensor, tensor.storage(), tensor.sizes().vec(),
                                            tensor.strides().vec(), 0, at::ScalarType::Half);
                     }),
             Contains("float16") && Contains("bfloat16"));
}

TEST_CASE("a copy in another storage is refused") {
  const Given given("qwen3.5-0.8b-flashinfer-nhd");
  const std::size_t length = given.memory.storage(0).size();
  CHECK_THAT(refusal(given,
                     [&](TensorsByLayer& tensors) {
                       at::TensorBase& tensor = of(tensors, attention).tensors[0];
                       tensor = over(tensor, borrowed(given, 0, 0, length));
                     }),
             Contains(attention) && Contains("another storage") && Contains("storage s0"));
}

TEST_CASE("a storage shorter than registered is refused") {
  const Given given("llama-lhbnc");
  const std::size_t length = given.memory.storage(0).size();
  const c10::Storage shorter = borrowed(given, 0, 0, length - 1);
  CHECK_THAT(refusal(given,
                     [&](TensorsByLayer& tensors) {
                       for (LayerTensors& each : tensors) each.tensors[0] = over(each.tensors[0], shorter);
                     }),
             Contains(std::to_string(length - 1) + " bytes") &&
                 Contains("registered with " + std::to_string(length)));
}

TEST_CASE("storages registered apart must not share memory") {
  const Given given("kv-tuple-two-allocations");
  const std::size_t length = given.memory.storage(0).size();
  const auto moved_onto_k0 = [&](std::size_t begin) {
    return refusal(given, [&](TensorsByLayer& tensors) {
      at::TensorBase& v = tensors.front().tensors[1];
      const c10::Storage longer(c10::Storage::use_byte_size_t(), length,
                                c10::DataPtr(given.memory.storage(0).data() + begin,
                                             c10::Device(c10::kCPU)),
                                nullptr, false);
      v = over(v, longer);
    });
  };
  CHECK_THAT(moved_onto_k0(0), Contains("share " + std::to_string(length) + " bytes"));
  CHECK_THAT(moved_onto_k0(length - 8), Contains("share 8 bytes"));
}

TEST_CASE("a storage that is not aligned for the dtype is refused") {
  const Given given("v022-dense-kv-planes");
  const std::size_t length = given.memory.storage(0).size();
  // One byte further than the mapping of s1; never read.
  const c10::Storage odd(c10::Storage::use_byte_size_t(), length,
                         c10::DataPtr(given.memory.storage(1).data() + 1, c10::Device(c10::kCPU)),
                         nullptr, false);
  CHECK_THAT(refusal(given,
                     [&](TensorsByLayer& tensors) {
                       at::TensorBase& tensor = tensors[1].tensors[0];
                       tensor = over(tensor, odd);
                     }),
             Contains(given.memory.tensors()[1].layer) && Contains("multiple of the 2 bytes"));
}

TEST_CASE("missing, unknown, repeated and undefined tensors are refused") {
  const Given given("v025-qwen3.5-0.8b-split5");
  CHECK_THAT(refusal(given, [](TensorsByLayer& tensors) { tensors.pop_back(); }),
             Contains(given.memory.tensors().back().layer) && Contains("no tensor given"));
  CHECK_THAT(refusal(given,
                     [](TensorsByLayer& tensors) {
                       tensors.push_back(tensors.front());
                       tensors.back().layer = "model.layers.99";
                     }),
             Contains("model.layers.99") && Contains("not registered"));
  CHECK_THAT(
      refusal(given, [](TensorsByLayer& tensors) { tensors.push_back(tensors.front()); }),
      Contains(given.memory.tensors().front().layer) && Contains("given twice"));
  CHECK_THAT(refusal(given, [](TensorsByLayer& tensors) { tensors[0].tensors.pop_back(); }),
             Contains("1 tensors given, 2 registered"));
  CHECK_THAT(refusal(given, [](TensorsByLayer& tensors) { tensors[0].tensors[1] = {}; }),
             Contains("tensor 1 is undefined"));
}

TEST_CASE("too few or too many tensors by position are refused") {
  const Given given("llama-lhbnc");
  std::vector<at::TensorBase> tensors = given.in_result_order();
  tensors.push_back(tensors.front());
  CHECK_THAT(kvedit::torch::make_views(given.result, tensors).error().text(),
             Contains("9 tensors given, the layers have 8"));
  tensors.resize(7);
  CHECK_THAT(kvedit::torch::make_views(given.result, tensors).error().text(),
             Contains("7 tensors given"));
}

TEST_CASE("a result that is not ok has no views") {
  const Given given("whisper-cross-attention");
  REQUIRE_FALSE(given.result.ok());
  const auto views = kvedit::torch::make_views(given.result, given.memory.tensors());
  REQUIRE_FALSE(views);
  CHECK_THAT(views.error().text(), Contains("not ok"));
}

TEST_CASE("tensors of another registration are refused") {
  const Given given("qwen3.5-0.8b-flashinfer-nhd");
  const Given other("qwen3.5-0.8b-flashinfer-hnd");
  CHECK_FALSE(kvedit::torch::make_views(given.result, other.memory.tensors()));
}
