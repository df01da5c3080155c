#include <catch2/catch.hpp>
#include <kvedit/rule.hpp>
#include <vector>

#include "hand_made.hpp"

using namespace kvedit::rule;
using sdk_test::HandMade;

namespace {

using Expected = std::vector<std::vector<std::int64_t>>;

/// {extent, stride, role} of each axis.
Expected axes_of(const Box& box) {
  INFO(box.why().view());
  CHECK(box);
  Expected out;
  for (std::size_t i = 0; i < box.rank(); ++i)
    out.push_back(
        {box.axis(i).extent, box.axis(i).stride, static_cast<std::int64_t>(box.axis(i).role)});
  return out;
}

constexpr std::int64_t block = KVEDIT_ROLE_BLOCK, page = KVEDIT_ROLE_KERNEL_PAGE,
                       kv = KVEDIT_ROLE_KV, head = KVEDIT_ROLE_HEAD, token = KVEDIT_ROLE_TOKEN,
                       content = KVEDIT_ROLE_CONTENT;

/// 12 kernel pages of 64 bytes, 3 in each of 4 blocks.
HandMade& kernel_paged(HandMade& made) { return made.tensor(2, {12, 8, 4}, {32, 4, 1}); }

}  // namespace

TEST_CASE("naming the axes keeps extents and byte strides") {
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 4, 192);
  const Layer layer(kernel_paged(made).get());
  const Tensor tensor = layer.tensor(0);
  const Box box = tensor.axes(Role::block, Role::token, Role::content);
  CHECK(axes_of(box) == Expected{{12, 64, block}, {8, 8, token}, {4, 2, content}});
  CHECK(box.item_bytes() == 2);
  CHECK(box.block_bytes() == 64);
  CHECK(box.offset() == 0);
  CHECK_FALSE(box.order_declared());
  CHECK(tensor.axes(Role::block, Role::token).why().view() ==
        "2 axes named of a tensor of rank 3; a box has at most 8");
  CHECK(tensor.axes(Role::kv, Role::token, Role::content).why().view() ==
        "0 axes named block, not one");
  CHECK(tensor.axes(Role::block, Role::block, Role::content).why().view() ==
        "2 axes named block, not one");
  CHECK(tensor.axes(Role::content, Role::block, Role::content).why().view() ==
        "");  // 12·4·2 = 96 bytes fit the page
}

TEST_CASE("an entry larger than the page leaves the page") {
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 12, 63);
  CHECK(Layer(kernel_paged(made).get())
            .tensor(0)
            .axes(Role::block, Role::token, Role::content)
            .why()
            .view() == "one entry of axis 0 has 64 bytes, the page 63");
}

TEST_CASE("a tensor of more axes than a box has cannot be named") {
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 1, 64);
  made.tensor(1, std::vector<std::int64_t>(9, 1), std::vector<std::int64_t>(9, 1));
  const Role c = Role::content;
  CHECK(Layer(made.get()).tensor(0).axes(Role::block, c, c, c, c, c, c, c, c).why().view() ==
        "9 axes named of a tensor of rank 9; a box has at most 8");
}

TEST_CASE("kernel pages get an axis of their own, in a row or striped") {
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 4, 192);
  const Layer layer(kernel_paged(made).get());
  const Box box = layer.tensor(0).axes(Role::block, Role::token, Role::content);
  CHECK(axes_of(box.group(3)) ==
        Expected{{4, 192, block}, {3, 64, page}, {8, 8, token}, {4, 2, content}});
  CHECK_FALSE(box.group(3).order_declared());
  CHECK(axes_of(box.striped(3)) ==
        Expected{{4, 64, block}, {3, 256, page}, {8, 8, token}, {4, 2, content}});
  CHECK(box.striped(3).order_declared());
  CHECK(box.group(3).declared().order_declared());
  CHECK(box.group(2).why().view() ==
        "the block axis has 12 entries, 4 blocks of 2 kernel pages have 8");
  CHECK(box.group(4).why().view() ==
        "the block axis has 12 entries, 4 blocks of 4 kernel pages have 16");
  CHECK(box.group(0).why().view() == "0 kernel pages make no block");
  CHECK(box.group(INT64_MAX).why().view() ==
        "the block axis has 12 entries, 4 blocks of 9223372036854775807 kernel pages have "
        "9223372036854775807");
  CHECK(box.group(3).group(1).why().view() == "the kernel pages have an axis already");
}

TEST_CASE("a tail that no block reaches is left out, kernel pages beyond the page are refused") {
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 5, 128);
  const Box box =
      Layer(kernel_paged(made).get()).tensor(0).axes(Role::block, Role::token, Role::content);
  CHECK(box.group(2).why().view() ==
        "the block axis has 12 entries, 5 blocks of 2 kernel pages have 10");
  HandMade tail(KVEDIT_KIND_FULL_ATTENTION, 3, 255);
  tail.tensor(2, {13, 32}, {32, 1});
  const Box named = Layer(tail.get()).tensor(0).axes(Role::block, Role::content);
  CHECK(named.group(4).why().view() == "4 kernel pages of 64 bytes leave the page of 255 bytes");
  HandMade fits(KVEDIT_KIND_FULL_ATTENTION, 3, 256);
  fits.tensor(2, {13, 32}, {32, 1});
  CHECK(axes_of(Layer(fits.get()).tensor(0).axes(Role::block, Role::content).group(4)) ==
        Expected{{3, 256, block}, {4, 64, page}, {32, 2, content}});
}

TEST_CASE("axes are split and merged without moving a byte") {
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 12, 64);
  const Layer layer(kernel_paged(made).get());
  const Box box = layer.tensor(0).axes(Role::block, Role::token, Role::content);
  CHECK(axes_of(box.split(1, 4, Role::kv, Role::token)) ==
        Expected{{12, 64, block}, {2, 32, kv}, {4, 8, token}, {4, 2, content}});
  CHECK(axes_of(box.merge(1, Role::content)) == Expected{{12, 64, block}, {32, 2, content}});
  CHECK(axes_of(box.split(1, 4, Role::kv, Role::token).merge(1, Role::token)) == axes_of(box));
  CHECK(axes_of(box.split(0, 3, Role::block, Role::kernel_page)) ==
        Expected{{4, 192, block}, {3, 64, page}, {8, 8, token}, {4, 2, content}});
  CHECK(box.split(1, 3, Role::head, Role::token).why().view() ==
        "axis 1 of 8 entries is no multiple of 3");
  CHECK(box.split(1, 0, Role::head, Role::token).why().view() ==
        "axis 1 of 8 entries is no multiple of 0");
  CHECK(box.split(0, 3, Role::token, Role::block).why().view() ==
        "a split of axis 0 must keep the blocks outside");
  CHECK(box.merge(0, Role::block).why().view() == "the block axis cannot be merged with another");
  CHECK_THROWS_WITH(box.merge(2, Role::content), "axis 3 of a box of rank 3");
}

TEST_CASE("axes that do not follow each other cannot be merged, those of extent 1 always can") {
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 4, 512);
  made.tensor(2, {4, 2, 1, 8}, {32, 16, 777, 1});
  const Box box =
      Layer(made.get()).tensor(0).axes(Role::block, Role::head, Role::token, Role::content);
  CHECK(axes_of(box.merge(1, Role::head)) ==
        Expected{{4, 64, block}, {2, 32, head}, {8, 2, content}});
  CHECK(axes_of(box.merge(2, Role::token)) ==
        Expected{{4, 64, block}, {2, 32, head}, {8, 2, token}});
  CHECK(box.merge(2, Role::token).merge(1, Role::content).why().view() ==
        "axis 1 steps 32 bytes and axis 2 covers 16: they do not follow each other");
}

TEST_CASE("items take another size where it fits") {
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 12, 64);
  const Layer layer(kernel_paged(made).get());
  const Box box = layer.tensor(0).axes(Role::block, Role::token, Role::content);
  CHECK(axes_of(box.items_of(8)) == Expected{{12, 64, block}, {8, 8, token}, {1, 8, content}});
  CHECK(box.items_of(8).item_bytes() == 8);
  CHECK(axes_of(box.items_of(1)) == Expected{{12, 64, block}, {8, 8, token}, {8, 1, content}});
  CHECK(box.items_of(8).block_bytes() == 64);
  CHECK(box.items_of(16).why().view() == "a run of 8 bytes is no multiple of items of 16 bytes");
  CHECK(axes_of(box.merge(1, Role::content).items_of(16)) ==
        Expected{{12, 64, block}, {4, 16, content}});
  CHECK(box.items_of(0).why().view() == "items of 2 bytes cannot become items of 0");
  HandMade odd(KVEDIT_KIND_FULL_ATTENTION, 4, 64);
  odd.tensor(2, {4, 8}, {9, 1});
  CHECK(Layer(odd.get()).tensor(0).axes(Role::block, Role::content).items_of(4).why().view() ==
        "axis 0 steps 18 bytes, no multiple of items of 4 bytes");
}

TEST_CASE("an empty axis and a row that meets itself are refused") {
  HandMade made(KVEDIT_KIND_MAMBA, 4, 64);
  made.tensor(2, {4, 0}, {8, 1}).tensor(2, {4, 8, 2}, {8, 1, 1});
  const Layer layer(made.get());
  CHECK(layer.tensor(0).entry_bytes(0) == 0);
  CHECK(layer.tensor(0).axes(Role::block, Role::content).why().view() == "axis 1 has 0 entries");
  CHECK(layer.tensor(0).state_row().why().view() == "a row of 0 bytes cannot span 2 bytes");
  CHECK(layer.tensor(1).state_row().why().view() == "a row of 32 bytes cannot span 18 bytes");
  CHECK(layer.whole_page().why().view() == "tensor 0 has no entries for the 4 blocks of tensor 0");
}

TEST_CASE("a broken box stays broken, with its first reason") {
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 4, 192);
  const Box box = Layer(kernel_paged(made).get()).tensor(0).axes(Role::block);
  const Box later = box.group(3).split(0, 2, Role::block, Role::kernel_page).items_of(1).declared();
  CHECK_FALSE(later);
  CHECK(later.why().view() == box.why().view());
  const Answer answer = match(later, "fine");
  CHECK(answer.verdict() == Verdict::error);
  CHECK(answer.reason() == box.why().view());
  CHECK(answer.boxes() == 0);
}

TEST_CASE("the whole page covers several tensors from the lowest on") {
  HandMade made(KVEDIT_KIND_MAMBA, 4, 64);
  made.tensor(4, {4, 6}, {16, 1}).tensor(2, {4, 3, 2}, {32, 2, 1}, -12);
  const Box box = Layer(made.get()).whole_page();
  CHECK(axes_of(box) == Expected{{4, 64, block}, {64, 1, content}});
  CHECK(box.offset() == -12);
  CHECK(box.tensor() == 0);
  CHECK(box.item_bytes() == 1);
  CHECK(axes_of(box.items_of(4)) == Expected{{4, 64, block}, {16, 4, content}});
}

TEST_CASE("tensors that lie in no page of their own make no whole page") {
  const auto why = [](std::int64_t page_bytes, std::vector<std::int64_t> extents,
                      std::vector<std::int64_t> strides, std::int64_t offset, bool shares) {
    HandMade made(KVEDIT_KIND_MAMBA, 4, page_bytes);
    made.tensor(4, {4, 6}, {16, 1});
    made.tensor(2, std::move(extents), std::move(strides), offset, shares);
    return std::string(Layer(made.get()).whole_page().why().view());
  };
  CHECK(why(64, {4, 8}, {32, 1}, 24, true).empty());
  CHECK(why(64, {4, 8}, {32, 1}, 24, false) == "tensor 1 lies in another storage than tensor 0");
  CHECK(why(64, {4, 8}, {16, 1}, 24, true) ==
        "blocks are 64 bytes apart in tensor 0 and 32 in tensor 1");
  CHECK(why(64, {5, 8}, {32, 1}, 24, true) ==
        "tensor 1 has no entries for the 4 blocks of tensor 0");
  CHECK(why(64, {4, 8}, {32, 1}, 49, true) ==
        "2 tensors span 65 bytes of a block, the page has 64");
  CHECK(why(65, {4, 8}, {32, 1}, 24, true) ==
        "blocks are 64 bytes apart, less than the page of 65 bytes");
  CHECK(why(64, {4, 8}, {32, 1}, INT64_MAX, true) ==
        "2 tensors span 9223372036854775807 bytes of a block, the page has 64");
  HandMade more(KVEDIT_KIND_MAMBA, 3, 64);
  more.tensor(4, {4, 6}, {16, 1});
  CHECK(Layer(more.get()).whole_page().why().view() == "axis 0 has 4 entries for 3 blocks");
  HandMade none(KVEDIT_KIND_MAMBA, 3, 64);
  CHECK(Layer(none.get()).whole_page().why().view() == "no tensor with axes");
}
