#include <chrono>
#include <string>

#include <catch2/catch.hpp>
#include <kvedit/addresses.hpp>
#include <kvedit/host.hpp>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KVEDIT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KVEDIT_SANITIZED 1
#endif
#endif

namespace kvedit::property {
namespace {

constexpr std::int64_t layer_count = 80;
constexpr std::int64_t blocks = 100'000;
constexpr std::int64_t page = 65'536;  // 16 tokens, 8 heads, 256 elements of two bytes

std::string name_of(std::int64_t layer) { return "layers." + std::to_string(layer); }

RegistrationData frame(const char* layout) {
  RegistrationData data;
  data.layout = layout;
  data.num_blocks = blocks;
  data.storages = {{"s0", layer_count * blocks * page, "cuda:0"}};
  Group group;
  group.spec = *make_spec("FullAttentionSpec", {},
                          {{"block_size", Value::of(std::int64_t{16})},
                           {"page_size_bytes", Value::of(page)},
                           {"unpadded_page_size_bytes", Value::of(page)}});
  for (std::int64_t layer = 0; layer < layer_count; ++layer) group.layers.push_back(name_of(layer));
  data.groups = {group};
  return data;
}

Tensor tensor(std::vector<std::int64_t> shape, std::vector<std::int64_t> stride,
              std::int64_t start) {
  return {*find_dtype("bfloat16"), std::move(shape), std::move(stride), start / 2, "s0"};
}

/// Layers outside; kernel pages of four tokens.
RegistrationData kernel_paged() {
  RegistrationData data = frame("LBHNC");
  for (std::int64_t layer = 0; layer < layer_count; ++layer)
    data.caches.push_back(
        {name_of(layer),
         {tensor({blocks * 4, 8, 4, 256}, {8192, 1024, 256, 1}, layer * blocks * page)},
         false});
  return data;
}

/// Each block holds all layers; heads stay inside the block.
RegistrationData layers_inside() {
  RegistrationData data = frame("BLNHC");
  for (std::int64_t layer = 0; layer < layer_count; ++layer)
    data.caches.push_back(
        {name_of(layer),
         {tensor({blocks, 8, 16, 256}, {layer_count * page / 2, 256, 2048, 1}, layer * page)},
         false});
  data.placements = {{"s0", data.groups[0].layers, 0, page, layer_count * page}};
  return data;
}

/// Every head in a region of its own: eight ranges a block.
RegistrationData heads_outside() {
  RegistrationData data = frame("LHBNC");
  for (std::int64_t layer = 0; layer < layer_count; ++layer)
    data.caches.push_back(
        {name_of(layer),
         {tensor({blocks, 8, 16, 256}, {4096, blocks * 4096, 256, 1}, layer * blocks * page)},
         false});
  return data;
}

Host open_host() {
  HostOptions options;
  options.standard_rules_dir = KVEDIT_RULES_DIR;
  Expected<Host> host = Host::open(options);
  REQUIRE(host.has_value());
  return *host;
}

double milliseconds_of_edit(const Host& host, const Registration& registration) {
  const auto start = std::chrono::steady_clock::now();
  const Result result = host.edit(registration);
  const auto end = std::chrono::steady_clock::now();
  CHECK(result.ok());
  return std::chrono::duration<double, std::milli>(end - start).count();
}

/// Where the last block of the last layer starts, by its page map.
std::int64_t last_address(const Result& result) {
  const std::optional<PageMap> pages = result.layer(layer_count - 1).pages();
  REQUIRE(pages.has_value());
  const Part& part = pages->parts[0];
  return part.base + (blocks - 1) * part.block_stride + part.ranges.front().offset;
}

}  // namespace

TEST_CASE("80 layers of 100,000 blocks take milliseconds") {
  const Host host = open_host();
  for (RegistrationData (*make)() : {kernel_paged, layers_inside, heads_outside}) {
    const double taken = milliseconds_of_edit(host, Registration(make()));
#ifndef KVEDIT_SANITIZED
    CHECK(taken < 500);
#else
    CHECK(taken >= 0);
#endif
  }
}

TEST_CASE("offsets beyond four gigabytes are right") {
  const Host host = open_host();
  const Result paged = host.edit(Registration(kernel_paged()));
  REQUIRE(paged.ok());
  CHECK(last_address(paged) == (layer_count * blocks - 1) * page);
  CHECK(paged.layer(layer_count - 1).pages()->kernel_pages == 4);

  const Result inside = host.edit(Registration(layers_inside()));
  REQUIRE(inside.ok());
  CHECK(last_address(inside) == (layer_count * blocks - 1) * page);

  const Result outside = host.edit(Registration(heads_outside()));
  REQUIRE(outside.ok());
  CHECK(last_address(outside) == (layer_count - 1) * blocks * page + (blocks - 1) * 8192);
  const std::size_t layers[] = {layer_count - 1};
  const std::int64_t last[] = {blocks - 1};
  const auto map = AddressMap::make(outside, layers);
  REQUIRE(map.has_value());
  const auto extents = map->extents(last);
  REQUIRE(extents.has_value());
  REQUIRE(extents->size() == 8);
  CHECK(extents->back().address == static_cast<std::uint64_t>(layer_count * blocks * page - 8192));
  CHECK(extents->back().length == 8192);
}

TEST_CASE("one block too many among 100,000 is found") {
  RegistrationData data = kernel_paged();
  data.num_blocks += 1;
  const Result result = open_host().edit(Registration(data));
  REQUIRE_FALSE(result.ok());
  CHECK(result.problems()[0].code == Code::block_count);
}

}  // namespace kvedit::property
