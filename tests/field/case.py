"""What a case is made of: the registration as an engine makes it, and what is right for it.

What is right is stated by the case in plain numbers (where block 0 starts, how far the next block
is, which bytes of a block must come back, which it owns). Nothing here derives one from the other:
a case that contradicts itself fails against kvedit, and against the reference where that can count.
"""

CASES = []

ITEMSIZE = {"bfloat16": 2, "float16": 2, "float32": 4, "uint8": 1, "int8": 1, "float8_e4m3fn": 1,
            "float8_e8m0fnu": 1}


def case(source, vllm, layout=None, name=None, **parallel):
    """Registers a function that fills in a Case; its name, with dashes, is the file's."""

    def register(fill):
        file = name or fill.__name__.replace("_", "-")
        CASES.append((file, source, vllm, layout, parallel, fill))
        return fill

    return register


def product(numbers):
    result = 1
    for number in numbers:
        result *= number
    return result


def dense(shape):
    """Strides of a contiguous tensor, in elements."""
    return [product(shape[i + 1:]) for i in range(len(shape))]


def in_memory(shape, order):
    """Strides when the axes lie in memory in this order, outermost first, without gaps."""
    stride = [0] * len(shape)
    step = 1
    for axis in reversed(order):
        stride[axis] = step
        step *= shape[axis]
    return stride


def tensor(storage, dtype, shape, stride=None, offset=0):
    """As PyTorch prints it: stride and offset are elements of the dtype."""
    return {"dtype": dtype, "shape": list(shape), "stride": list(stride or dense(shape)),
            "storage_offset": offset, "storage": storage}


def view(shape, stride, dtype, axes=None):
    """`axes`: what each axis is called, where that is part of what is right."""
    shown = {"shape": list(shape), "stride": list(stride), "dtype": dtype}
    if axes:
        shown["axes"] = axes.split()
    return shown


class Case:
    def __init__(self, name, source, vllm, layout, parallel):
        self.registration = {
            "schema": "kvedit.registration/1", "engine": {"name": "vllm", "version": vllm},
            "model": name, "num_blocks": 0, "groups": [], "storages": {}, "caches": {}}
        if layout:
            self.registration["layout"] = layout
        if parallel:
            self.registration["parallel"] = parallel
        self.expected = {"source": source, "layers": {}}

    # The registration.

    def blocks(self, number):
        self.registration["num_blocks"] = number
        return number

    def storage(self, name, nbytes, device="cuda:0"):
        self.registration["storages"][name] = {"nbytes": nbytes, "device": device}
        return name

    def group(self, layers, spec, leaves=None, **flags):
        group = {"layers": list(layers), "spec": spec, **flags}
        if leaves:
            group["layer_specs"] = leaves
        self.registration["groups"].append(group)

    def place(self, layers, offset, layer_stride, block_stride, storage="s0"):
        self.registration.setdefault("placements", []).append(
            {"storage": storage, "layers": list(layers), "offset": offset,
             "layer_stride": layer_stride, "block_stride": block_stride})

    def cache(self, layer, *tensors):
        """One tensor, or the list an engine registered."""
        self.registration["caches"][layer] = tensors[0] if len(tensors) == 1 else list(tensors)

    # What is right.

    def page(self, layer, base, block_stride, payload, owned=None, *, storage="s0", blocks=None,
             k=1, slots, tokens, outcome=None, **views):
        """Block b of the layer is the first `payload` bytes at `base + b·block_stride`, and it owns
        `owned` bytes from there."""
        part = {"storage": storage, "base": base, "block_stride": block_stride,
                "ranges": [[0, payload]]}
        self.parts(layer, [part], {storage: [[base, owned or payload]]}, blocks=blocks, k=k,
                   slots=slots, tokens=tokens, outcome=outcome, **views)

    def parts(self, layer, parts, owned=None, *, blocks=None, k=1, slots, tokens, outcome=None,
              **views):
        """A block in several ranges; without `owned` it owns just these."""
        if owned is None:
            owned = {}
            for part in parts:
                owned.setdefault(part["storage"], []).extend(
                    [part["base"] + offset, length] for offset, length in part["ranges"])
        right = {"outcome": outcome} if outcome else {}
        right.update(blocks=blocks or self.registration["num_blocks"], kernel_pages=k, slots=slots,
                     tokens=tokens, parts=parts, owned=owned)
        if views:
            right["views"] = {profile: shown if isinstance(shown, list) else [shown]
                              for profile, shown in views.items()}
        self.expected["layers"][layer] = right

    def excluded(self, layer):
        self.expected["layers"][layer] = {"outcome": "excluded"}

    def chunk(self, tokens):
        self.expected["chunk_tokens"] = tokens

    def refuses(self, profile, why):
        """The bytes are known, and the consumer of this profile would reject or misread them."""
        self.expected.setdefault("refused_profiles", {})[profile] = why

    def refused(self, code, layer, *says, group=0, **facts):
        """One problem: its code, whom it names, its numbers, and words its message must have."""
        self.expected.pop("layers", None)
        codes = self.expected.setdefault("refused_as_one_of", [])
        if code not in codes:
            codes.append(code)
        self.expected.setdefault("problems", []).append(
            {"code": code, "group": group, "layer": layer, "facts": facts, "says": list(says)})


def ranges(storage, base, block_stride, *each):
    return {"storage": storage, "base": base, "block_stride": block_stride,
            "ranges": [list(r) for r in each]}
