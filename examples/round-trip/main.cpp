// Moves real bytes through the page maps of given registrations, and shows that the raw tensors,
// read as connectors read them, do not.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <kvedit/kvedit.hpp>
#include <kvedit/torch.hpp>

#include "moves.hpp"
#include "registered_memory.hpp"
#include "stage.hpp"

namespace {

using kvedit::Error;
using kvedit::Expected;

struct Row {
  std::string layers, kernel_pages, ids;
  std::int64_t moved = 0;
  std::int64_t right = 0;
  bool rest_untouched = true;
  bool naive_must_fail = false;
  std::int64_t naive_copied = 0;
  std::int64_t naive_right = 0;

  bool round_trip_ok() const { return right == moved && rest_untouched; }
  bool control_ok() const { return !naive_must_fail || naive_right < moved; }
};

Expected<kvedit::Registration> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{path, "cannot be read"};
  std::ostringstream text;
  text << file.rdbuf();
  Expected<kvedit::Registration> registration = kvedit::read_registration(text.str());
  if (!registration) return Error{path, registration.error().text()};
  return registration;
}

template <class Numbers>
std::string joined(const Numbers& numbers) {
  std::string out;
  for (const std::int64_t number : numbers) {
    if (!out.empty()) out += ',';
    out += std::to_string(number);
  }
  return out;
}

// Entry b of the first axis is block b only where one entry is one block.
bool indexed_by_block(const kvedit::LayerResult& layer) {
  return layer.pages()->kernel_pages == 1 && layer.view(0).block_axis == 0;
}

void describe(const kvedit::Result& result, const Stage& stage, Row& row) {
  const kvedit::LayerResult first = result.layer(stage.layers().front());
  const auto& group = result.groups()[static_cast<std::size_t>(first.group())];
  row.layers = std::to_string(stage.layers().size()) + " " + std::string(to_text(group.kind));
  std::set<std::int64_t> ks;
  for (const std::size_t layer : stage.layers()) {
    ks.insert(result.layer(layer).pages()->kernel_pages);
    row.naive_must_fail |= !indexed_by_block(result.layer(layer));
  }
  row.kernel_pages = joined(ks);
  row.ids = joined(stage.move().from) + " -> " + joined(stage.move().to);
}

Expected<Row> move_group(const kvedit::Result& result, const RegisteredMemory& memory,
                         const Stage& stage, kvedit::Order order) {
  Row row;
  describe(result, stage, row);
  stage.paint();
  const Expected<std::int64_t> stored = move_by_pages(result, memory, stage, order);
  if (!stored) return stored.error();
  row.moved = stage.payload_bytes();
  if (*stored != row.moved)
    return Error{row.layers, std::to_string(*stored) + " bytes stored, the payload has " +
                                 std::to_string(row.moved)};
  row.right = stage.count_right();
  row.rest_untouched = stage.rest_untouched();

  memory.clear();
  stage.paint();
  row.naive_copied = move_by_index(result, memory, stage);
  row.naive_right = stage.count_right();
  memory.clear();
  return row;
}

std::map<std::int32_t, std::vector<std::size_t>> layers_by_group(const kvedit::Result& result) {
  std::map<std::int32_t, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < result.layer_count(); ++i)
    if (result.layer(i).pages()) groups[result.layer(i).group()].push_back(i);
  return groups;
}

// Groups may lie over each other in one arena: one at a time.
Expected<std::vector<Row>> move_all(const kvedit::Result& result, const RegisteredMemory& memory) {
  std::vector<Row> rows;
  for (const auto& [group, layers] : layers_by_group(result)) {
    const Move move = choose_blocks(result.layer(layers.front()).pages()->blocks);
    if (move.from.empty()) continue;  // a single block has no other id to come back under
    const Stage stage(result, memory, layers, move);
    for (const auto order : {kvedit::Order::layer_major, kvedit::Order::block_major}) {
      Expected<Row> row = move_group(result, memory, stage, order);
      if (!row) return row.error();
      if (order == kvedit::Order::layer_major || !row->round_trip_ok()) rows.push_back(*row);
    }
  }
  return rows;
}

void print(const Row& row) {
  const auto column = [](std::string text, std::size_t width) {
    text.resize(std::max(width, text.size()), ' ');
    return text + "  ";
  };
  std::cout << "  " << column(row.layers, 24) << column("k=" + row.kernel_pages, 6)
            << column(row.ids, 20) << column(std::to_string(row.moved) + " bytes", 16)
            << column(!row.round_trip_ok()  ? "WRONG: " + std::to_string(row.right) + " came back" +
                                                 (row.rest_untouched ? "" : ", others damaged")
                      : "all came back",
                      13)
            << "| naive: " << row.naive_copied << " copied, " << row.naive_right << " right"
            << (row.naive_must_fail ? (row.control_ok() ? " (as expected, fails)" : " (MUST FAIL)")
                                    : " (one entry is one block)")
            << "\n";
}

Expected<bool> round_trip(const kvedit::Host& host, const std::string& path) {
  const Expected<kvedit::Registration> registration = read(path);
  if (!registration) return registration.error();
  const kvedit::Result result = host.edit(*registration);
  if (!result.ok()) return Error{path, kvedit::explain(result)};
  const Expected<RegisteredMemory> memory = RegisteredMemory::reserve(*registration);
  if (!memory) return memory.error();
  const auto views = kvedit::torch::make_views(result, memory->tensors());
  if (!views) return views.error();

  const kvedit::RegistrationData& facts = registration->data();
  std::cout << path.substr(path.rfind('/') + 1) << ": " << facts.engine_name << " "
            << facts.engine_version << ", " << facts.layout << ", " << facts.num_blocks
            << " blocks\n";
  const Expected<std::vector<Row>> rows = move_all(result, *memory);
  if (!rows) return rows.error();
  bool good = !rows->empty();
  for (const Row& row : *rows) {
    print(row);
    good = good && row.round_trip_ok() && row.control_ok();
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: kvedit-roundtrip REGISTRATION.json…\n";
    return 2;
  }
  const Expected<kvedit::Host> host = kvedit::Host::open({});
  if (!host) {
    std::cerr << host.error().text() << "\n";
    return 2;
  }
  std::cout << "Blocks stored into a file, wiped, brought back under other ids, every payload byte "
               "compared;\npadding, neighbours and 4 KiB around them unchanged. Naive: entry b of "
               "the registered tensor taken for block b.\n";
  bool good = true;
  for (int i = 1; i < argc; ++i) {
    const Expected<bool> done = round_trip(*host, argv[i]);
    if (!done) std::cerr << done.error().text() << "\n";
    good = good && done && *done;
  }
  std::cout << (good ? "ok" : "FAILED") << "\n";
  return good ? 0 : 1;
}
