#include <kvedit/addresses.hpp>

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <tuple>

#include "model/edit.hpp"

using namespace kvedit;

namespace {

struct Layout {
  std::vector<Storage> storages;
  std::vector<std::string> names;
  std::vector<std::int32_t> groups;
  std::vector<std::vector<Part>> parts;  // of each layer; ranges live in `ranges`
  std::vector<std::vector<PartShape>> shapes;
  std::int64_t blocks = 1;
};

PartShape shape_of(std::int64_t stride, std::vector<Range> ranges) {
  return {0, 0, stride, std::move(ranges)};
}

// A proved edit with one class for each layer, whose parts are placed as given.
Result proved(const Layout& layout) {
  RegistrationData data;
  data.storages = layout.storages;
  data.num_blocks = layout.blocks;
  auto edit = std::make_shared<Edit>(Registration(std::move(data)), EditOptions{}, nullptr);
  edit->ok = true;
  edit->classes.resize(layout.names.size());
  for (std::size_t i = 0; i < layout.names.size(); ++i) {
    ProvedPage page;
    page.blocks = layout.blocks;
    page.payload = layout.shapes[i];
    for (const PartShape& part : page.payload)
      for (const Range& range : part.ranges) page.block_bytes += range.length;
    edit->classes[i].page = std::move(page);
  }
  for (std::size_t i = 0; i < layout.names.size(); ++i) {
    LayerEntry entry;
    entry.name = layout.names[i];
    entry.group = layout.groups[i];
    entry.layer_class = static_cast<std::int32_t>(i);
    entry.outcome = Outcome::passed;
    entry.first_part = static_cast<std::uint32_t>(edit->parts.size());
    for (std::size_t p = 0; p < layout.parts[i].size(); ++p) {
      Part part = layout.parts[i][p];
      part.ranges = edit->classes[i].page->payload[p].ranges;
      edit->parts.push_back(part);
    }
    edit->layers.push_back(entry);
  }
  return Result(std::move(edit));
}

void add_layer(Layout& layout, const std::string& name, std::vector<Part> parts,
               std::vector<PartShape> shapes, std::int32_t group = 0) {
  layout.names.push_back(name);
  layout.groups.push_back(group);
  layout.parts.push_back(std::move(parts));
  layout.shapes.push_back(std::move(shapes));
}

std::vector<std::size_t> all_layers(const Result& result) {
  std::vector<std::size_t> layers(result.layer_count());
  for (std::size_t i = 0; i < layers.size(); ++i) layers[i] = i;
  return layers;
}

using Byte = std::tuple<std::int32_t, std::uint64_t>;

void add_bytes(std::vector<Byte>& bytes, const Part& part, std::uint64_t base, std::int64_t block) {
  for (const Range& range : part.ranges)
    for (std::int64_t i = 0; i < range.length; ++i)
      bytes.emplace_back(part.storage,
                         base + static_cast<std::uint64_t>(part.base + block * part.block_stride +
                                                           range.offset + i));
}

std::span<const Part> parts_of(const Result& result, std::size_t layer) {
  return result.layer(layer).pages()->parts;
}

std::vector<Byte> one_by_one(const Result& result, const std::vector<std::uint64_t>& bases,
                             Order order, const std::vector<std::int64_t>& ids) {
  std::vector<Byte> bytes;
  const auto base = [&](const Part& part) {
    return bases.empty() ? 0 : bases[static_cast<std::size_t>(part.storage)];
  };
  if (order == Order::layer_major) {
    for (std::size_t layer = 0; layer < result.layer_count(); ++layer)
      for (const Part& part : parts_of(result, layer))
        for (const std::int64_t id : ids) add_bytes(bytes, part, base(part), id);
  } else {
    for (const std::int64_t id : ids)
      for (std::size_t layer = 0; layer < result.layer_count(); ++layer)
        for (const Part& part : parts_of(result, layer))
          add_bytes(bytes, part, base(part), id);
  }
  return bytes;
}

std::vector<Byte> bytes_of(std::span<const Extent> extents) {
  std::vector<Byte> bytes;
  for (const Extent& extent : extents)
    for (std::uint64_t i = 0; i < extent.length; ++i)
      bytes.emplace_back(extent.storage, extent.address + i);
  return bytes;
}

bool none_touch(std::span<const Extent> extents) {
  for (std::size_t i = 1; i < extents.size(); ++i)
    if (extents[i].storage == extents[i - 1].storage &&
        extents[i].address == extents[i - 1].address + extents[i - 1].length)
      return false;
  return true;
}

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::int64_t upto(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }

 private:
  std::mt19937 engine_;
};

// Offsets, lengths and strides from a small grid, so that neighbours often touch.
void add_random_part(Random& random, const Layout& layout, std::vector<Part>& parts,
                     std::vector<PartShape>& shapes) {
  std::vector<Range> ranges;
  std::int64_t at = 0;
  for (std::int64_t i = random.upto(1, 3); i > 0; --i) {
    at += 4 * random.upto(0, 1);
    ranges.push_back({at, 4 * random.upto(1, 2)});
    at += ranges.back().length;
  }
  const std::int64_t stride = random.upto(0, 3) == 0 ? at : 4 * random.upto(1, 8);
  Part part;
  part.storage = static_cast<std::int32_t>(
      random.upto(0, static_cast<std::int64_t>(layout.storages.size()) - 1));
  part.base = 4 * random.upto(0, 16);
  part.block_stride = stride;
  parts.push_back(part);
  shapes.push_back(shape_of(stride, std::move(ranges)));
}

Layout random_layout(Random& random) {
  Layout layout;
  layout.blocks = random.upto(1, 8);
  const std::int64_t storages = random.upto(1, 2);
  for (std::int64_t i = 0; i < storages; ++i)
    layout.storages.push_back({"s" + std::to_string(i), 1 << 20, "cpu"});
  for (std::int64_t i = random.upto(1, 4); i > 0; --i) {
    std::vector<Part> parts;
    std::vector<PartShape> shapes;
    for (std::int64_t p = random.upto(1, 3); p > 0; --p)
      add_random_part(random, layout, parts, shapes);
    add_layer(layout, "layer" + std::to_string(i), std::move(parts), std::move(shapes));
  }
  return layout;
}

std::vector<std::int64_t> random_ids(Random& random, std::int64_t blocks) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(random.upto(1, 10)));
  const bool consecutive = random.upto(0, 1) == 1;
  std::int64_t next = random.upto(0, blocks - 1);
  for (std::int64_t& id : ids) {
    id = next;
    next = consecutive ? (next + 1) % blocks : random.upto(0, blocks - 1);
  }
  return ids;
}

// Two layers in one arena: layer l of block b at 64·b + 32·l, 32 bytes each.
Layout arena() {
  Layout layout;
  layout.storages = {{"s0", 640, "cpu"}};
  layout.blocks = 10;
  for (std::int64_t l = 0; l < 2; ++l)
    add_layer(layout, "layer" + std::to_string(l), {{0, 32 * l, 64, {}}},
              {shape_of(64, {{0, 32}})});
  return layout;
}

}  // namespace

TEST_CASE("addresses of random pages are those of every byte, one by one") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  for (int round = 0; round < 4000; ++round) {
    INFO("round " << round);
    const Result result = proved(random_layout(random));
    const std::vector<std::int64_t> ids = random_ids(random, result.registration().data().num_blocks);
    const Order order = random.upto(0, 1) == 0 ? Order::layer_major : Order::block_major;
    std::vector<std::uint64_t> bases;
    if (random.upto(0, 1) == 1)
      for (std::size_t i = 0; i < result.registration().data().storages.size(); ++i)
        bases.push_back(0x7000'0000'0000u + (i << 20));

    const Expected<AddressMap> map = AddressMap::make(result, all_layers(result), bases, order);
    REQUIRE(map);
    const Expected<std::vector<Extent>> extents = map->extents(ids);
    REQUIRE(extents);
    REQUIRE(bytes_of(*extents) == one_by_one(result, bases, order, ids));
    REQUIRE(none_touch(*extents));
    REQUIRE(extents->size() <= map->capacity(ids.size()));
    REQUIRE(map->block_bytes() * static_cast<std::int64_t>(ids.size()) ==
            static_cast<std::int64_t>(bytes_of(*extents).size()));
  }
}

TEST_CASE("an arena by block is one extent for consecutive ids, by layer one for each page") {
  const Result result = proved(arena());
  const std::vector<std::int64_t> ids = {3, 4, 5};

  const Expected<AddressMap> by_block =
      AddressMap::make(result, all_layers(result), {}, Order::block_major);
  REQUIRE(by_block);
  CHECK(by_block->block_bytes() == 64);
  CHECK(by_block->capacity(3) == 3);
  CHECK(*by_block->extents(ids) == std::vector<Extent>{{192, 192, 0}});

  const Expected<AddressMap> by_layer = AddressMap::make(result, all_layers(result));
  REQUIRE(by_layer);
  CHECK(by_layer->capacity(3) == 6);
  CHECK(*by_layer->extents(ids) == std::vector<Extent>{{192, 32, 0},
                                                       {256, 32, 0},
                                                       {320, 32, 0},
                                                       {224, 32, 0},
                                                       {288, 32, 0},
                                                       {352, 32, 0}});
}

TEST_CASE("neighbours of different storages stay apart") {
  Layout layout;
  layout.storages = {{"s0", 64, "cpu"}, {"s1", 64, "cpu"}};
  layout.blocks = 2;
  add_layer(layout, "k", {{0, 0, 32, {}}}, {shape_of(32, {{0, 32}})});
  add_layer(layout, "v", {{1, 0, 32, {}}}, {shape_of(32, {{0, 32}})});
  const Result result = proved(layout);
  const std::vector<std::uint64_t> bases = {4096, 4160};
  const Expected<AddressMap> map = AddressMap::make(result, all_layers(result), bases);
  REQUIRE(map);
  CHECK(*map->extents(std::vector<std::int64_t>{0, 1}) ==
        std::vector<Extent>{{4096, 64, 0}, {4160, 64, 1}});
}

TEST_CASE("no ids and no layers give no extents") {
  const Result result = proved(arena());
  CHECK(AddressMap::make(result, all_layers(result))->extents({})->empty());
  const Expected<AddressMap> none = AddressMap::make(result, {});
  REQUIRE(none);
  CHECK(none->extents({})->empty());
  CHECK(none->block_bytes() == 0);
}

TEST_CASE("block ids outside the group and short output are refused with numbers") {
  const Result result = proved(arena());
  const Expected<AddressMap> map = AddressMap::make(result, all_layers(result));
  REQUIRE(map);
  std::vector<Extent> out(4);
  for (const std::int64_t wrong : {std::int64_t{10}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    const Expected<std::size_t> count = map->write(std::vector<std::int64_t>{1, wrong}, out);
    REQUIRE_FALSE(count);
    CHECK_THAT(count.error().message,
               Catch::Contains("block id " + std::to_string(wrong) + " at position 1") &&
                   Catch::Contains("0 to 9"));
  }
  CHECK(out == std::vector<Extent>(4));

  const Expected<std::size_t> shorter = map->write(std::vector<std::int64_t>{1, 2, 3}, out);
  REQUIRE_FALSE(shorter);
  CHECK_THAT(shorter.error().message, Catch::Contains("4 extents") && Catch::Contains("need 6"));
  CHECK(map->write(std::vector<std::int64_t>{1, 2}, out));
}

TEST_CASE("maps are refused for layers without pages, of two groups, and missing bases") {
  Layout layout = arena();
  layout.groups[1] = 1;
  const Result result = proved(layout);
  const auto refusal = [&](std::vector<std::size_t> layers, std::vector<std::uint64_t> bases) {
    const Expected<AddressMap> map = AddressMap::make(result, layers, bases);
    return map ? std::string() : map.error().message;
  };
  CHECK_THAT(refusal({0, 1}, {}), Catch::Contains("layer1 is of group 1") &&
                                      Catch::Contains("layer0 of group 0"));
  CHECK_THAT(refusal({2}, {}), Catch::Contains("layer index 2"));
  CHECK_THAT(refusal({0, 0}, {}), Catch::Contains("layer0 is chosen twice"));
  CHECK_THAT(refusal({0}, {1, 2}), Catch::Contains("2 base addresses for 1 storages"));
  CHECK_THAT(refusal({0}, {UINT64_MAX - 100}), Catch::Contains("ends beyond 64 bits"));
  CHECK(refusal({1}, {4096}).empty());

  auto failed = std::make_shared<Edit>(Registration(RegistrationData{}), EditOptions{}, nullptr);
  CHECK_THAT(AddressMap::make(Result(failed), {}).error().message, Catch::Contains("not ok"));
}

TEST_CASE("an excluded layer has no addresses") {
  auto edit = std::make_shared<Edit>(Registration(RegistrationData{}), EditOptions{}, nullptr);
  edit->ok = true;
  LayerEntry entry;
  entry.name = "draft";
  entry.outcome = Outcome::excluded;
  edit->layers.push_back(entry);
  const std::vector<std::size_t> layers = {0};
  const Expected<AddressMap> map = AddressMap::make(Result(edit), layers);
  REQUIRE_FALSE(map);
  CHECK_THAT(map.error().message, Catch::Contains("draft is excluded"));
}
