// Rules that go wrong in every way the SDK must catch, and some that use all it has.

#include <kvedit/rule.hpp>
#include <stdexcept>

namespace {

using namespace kvedit::rule;

struct Throws {
  static constexpr const char* id = "odd.throws";
  Answer answer(const Layer&) const { throw std::runtime_error("the disk is full"); }
};

struct ThrowsNumber {
  static constexpr const char* id = "odd.throws-number";
  static constexpr Tier tier = Tier::fallback;
  static constexpr int priority = -7;
  Answer answer(const Layer&) const { throw 42; }
};

struct NeedsField {
  static constexpr const char* id = "odd.needs-field";
  static constexpr const char* summary = "wants a field";
  Answer answer(const Layer& layer) const {
    const std::int64_t rows = layer.required_int("rows");
    return no_match("{} rows of {}", rows, layer.required_text("colour"));
  }
};

struct NoSuchTensor {
  static constexpr const char* id = "odd.no-such-tensor";
  Answer answer(const Layer& layer) const {
    return match(layer.tensor(3).axes(Role::block, Role::content));
  }
};

struct BrokenBox {
  static constexpr const char* id = "odd.broken-box";
  Answer answer(const Layer& layer) const {
    return match(layer.tensor(0).axes(Role::block, Role::content).group(5), "five pages");
  }
};

struct Talks {
  static constexpr const char* id = "odd.talks";
  Answer answer(const Layer& layer) const {
    const Box box = layer.tensor(0).axes(Role::block, Role::content);
    return match(box, "größer als {}", layer.page_bytes())
        .with(box.group(2).split(2, 4, Role::token, Role::content))
        .declared()
        .fact("kernel_pages", 2)
        .fact("layout", layer.layout())
        .fact("empty", "");
  }
};

struct TooManyBoxes {
  static constexpr const char* id = "odd.too-many-boxes";
  Answer answer(const Layer& layer) const {
    const Box box = layer.tensor(0).axes(Role::block, Role::content);
    Answer answer = match(box, "boxes");
    for (int i = 0; i < 16; ++i) answer.with(box);
    return answer;
  }
};

struct TooManyFacts {
  static constexpr const char* id = "odd.too-many-facts";
  Answer answer(const Layer&) const {
    Answer answer = refuse("facts");
    for (int i = 0; i < 17; ++i) answer.fact("number", i);
    return answer;
  }
};

struct Refuses {
  static constexpr const char* id = "odd.refuses";
  Answer answer(const Layer& layer) const {
    return refuse("{} is mine, and {} bytes are {}", layer.type(), layer.page_bytes(), "wrong")
        .fact("page", layer.page_bytes());
  }
};

}  // namespace

KVEDIT_RULE_PACK("odd.pack", "1.2.3", "Odd & Söhne", Throws, ThrowsNumber, NeedsField, NoSuchTensor,
                 BrokenBox, Talks, TooManyBoxes, TooManyFacts, Refuses)
