#include "given.hpp"

using namespace kvedit;

TEST_CASE("dtypes that every libtorch has go there and back") {
  for (const char* name : {"bool", "uint8", "int8", "int16", "int32", "int64", "float16",
                           "bfloat16", "float32", "float64", "complex64", "complex128"}) {
    INFO(name);
    const std::optional<DType> dtype = find_dtype(name);
    REQUIRE(dtype);
    const std::optional<at::ScalarType> type = kvedit::torch::scalar_type(*dtype);
    REQUIRE(type);
    CHECK(c10::elementSize(*type) == dtype->itemsize);
    CHECK((kvedit::torch::dtype_of(*type) == *dtype));
  }
  CHECK(kvedit::torch::scalar_type(*find_dtype("bfloat16")) == at::ScalarType::BFloat16);
  CHECK(kvedit::torch::scalar_type(*find_dtype("float16")) == at::ScalarType::Half);
  CHECK(kvedit::torch::scalar_type(*find_dtype("int8")) == at::ScalarType::Char);
}

TEST_CASE("dtypes without a libtorch type have none") {
  CHECK_FALSE(kvedit::torch::scalar_type(opaque_dtype("int1000", 125)));
  CHECK_FALSE(kvedit::torch::scalar_type(opaque_dtype("fp8_of_tomorrow", 1)));
}

TEST_CASE("a type without a kvedit name keeps its size") {
  const DType dtype = kvedit::torch::dtype_of(at::ScalarType::QUInt4x2);
  CHECK(dtype.name == "quint4x2");
  CHECK(dtype.itemsize == 1);
  CHECK(dtype.code == DType::opaque_code);
}

TEST_CASE("float8 layers are float8 where libtorch has it, else bytes over uint8 tensors") {
  const Given given("qwen3.5-27b-fp8-mtp2-flashinfer");
  const auto views = kvedit::torch::make_views(given.result, given.memory.tensors());
  REQUIRE(views);
  int float8 = 0;
  for (const auto& each : *views) {
    const LayerResult layer = *given.result.find_layer(each.layer);
    if (layer.view(0).dtype->name != "float8_e4m3fn") continue;
    ++float8;
#if __has_include(<c10/util/Float8_e4m3fn.h>)
    CHECK(each.views.front().scalar_type() == at::ScalarType::Float8_e4m3fn);
#else
    CHECK(each.views.front().scalar_type() == at::ScalarType::Byte);
#endif
    CHECK(each.views.front().element_size() == 1);
  }
  CHECK(float8 == 17);
}

#if __has_include(<c10/util/Float8_e4m3fn.h>)
TEST_CASE("float8 dtypes go there and back") {
  for (const char* name :
       {"float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"}) {
    INFO(name);
    const std::optional<at::ScalarType> type = kvedit::torch::scalar_type(*find_dtype(name));
    REQUIRE(type);
    CHECK(kvedit::torch::dtype_of(*type).name == name);
  }
}
#endif
