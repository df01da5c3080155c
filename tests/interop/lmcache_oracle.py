"""What the installed LMCache makes of the views kvedit gives it, on tensors without memory.

Runs LMCache's own grouping and detection (`create_engine_group_infos_from_vllm`,
`KVLayerGroupsManager`) over specs that look like vLLM's. Needs lmcache and torch; nothing of vLLM.
"""

import logging
import math

import torch
from lmcache.integration.vllm.kv_cache_groups import create_engine_group_infos_from_vllm
from lmcache.utils import EngineType
from lmcache.v1.gpu_connector.kv_format.contiguity import attempt_permute_to_contiguous_view
from lmcache.v1.gpu_connector.kv_format.detectors import vllm as vllm_detector
from lmcache.v1.gpu_connector.utils import normalize_and_discover_per_layer_formats
from lmcache.v1.kv_layer_groups import KVLayerGroupsManager
from lmcache.v1.platform.devices.cuda.ipc_wrapper import CudaIPCWrapper

from explain import report_of

logging.disable(logging.CRITICAL)

HINTS = {"NHD": "NHD", "LBNHC": "NHD", "HND": "HND", "LBHNC": "HND", "BLHNC": "BLHNC",
         "BLNHC": "BLNHC"}


def installed_version():
    from importlib.metadata import version
    return version("lmcache")


class Spec:
    """Answers for the fields of a registration's spec, under the class names LMCache looks for."""

    def __init__(self, fields):
        self.__dict__.update(fields)


def spec_object(fields, leaves=None):
    made = Spec
    for name in reversed([fields["type"], *fields.get("bases", [])]):
        made = type(name, (made,), {})
    spec = made({"sliding_window": -1, **fields})  # the engine's own always has one
    if leaves:
        spec.kv_cache_specs = {name: spec_object(leaf) for name, leaf in leaves.items()}
    return spec


class Fields:
    def __init__(self, **fields):
        self.__dict__.update(fields)


def config_of(registration):
    groups = []
    for group in registration["groups"]:
        given = group.get("layer_specs") or {}
        leaves = {name: given[name] for name in group["layers"] if name in given}
        groups.append(Fields(layer_names=group["layers"],
                             kv_cache_spec=spec_object(group["spec"], leaves)))
    return Fields(kv_cache_groups=groups)


def tensor_of(view):
    return torch.empty_strided(view["shape"], view["stride"], dtype=getattr(torch, view["dtype"]),
                               device="meta")


def caches_of(registration, report):
    """What a connector hands over: views, or what is registered where there are none."""
    views = {layer["name"]: layer["view"] for layer in report["layers"]}
    caches = {}
    for name, registered in registration["caches"].items():
        view = views.get(name) or registered
        many = isinstance(view, list)
        caches[name] = [tensor_of(each) for each in view] if many else tensor_of(view)
    return caches


def wrap(caches, device, through_shared_memory):
    """What LMCache's wrappers ask of every cache before they share its memory."""
    for value in caches.values():
        if isinstance(value, list):
            if not device.startswith("npu"):
                CudaIPCWrapper(value)  # raises before it needs a device
            continue
        dense = attempt_permute_to_contiguous_view(value).is_contiguous()
        if through_shared_memory and not dense:
            raise ValueError("migrate_to_shm_and_wrap wants contiguous tensors")


def derived(registration, report, through_shared_memory=False):
    """What LMCache takes each layer for, or raises what it raises."""
    layout = registration.get("layout")
    hints = {"kv_layout": HINTS[layout]} if layout else {}
    return readings(config_of(registration), caches_of(registration, report), hints,
                    devices_of(registration), registration.get("parallel", {}).get("dcp", 1),
                    through_shared_memory)


def devices_of(registration):
    return {storage.get("device", "") for storage in registration["storages"].values()}


def readings(config, caches, hints, devices, dcp, through_shared_memory):
    """The same of any config and caches, on a machine whose caches lie on these devices."""
    vllm_detector.torch_device_type = "cpu" if devices == {"cpu"} else "cuda"
    wrap(caches, next(iter(devices), ""), through_shared_memory)
    infos = create_engine_group_infos_from_vllm(config, caches, hints, dcp)
    if not infos:
        raise ValueError("no layer to move")
    normalized, formats = normalize_and_discover_per_layer_formats(
        list(caches.values()), [info.layer_indices for info in infos], EngineType.VLLM, hints)
    chunk = math.lcm(*(info.tokens_per_block for info in infos))
    groups = KVLayerGroupsManager(normalized, formats, infos, chunk).kernel_groups
    names = list(caches)
    return {names[index]: of_group(group) for group in groups for index in group.layer_indices}


def of_group(group):
    desc, name = group.shape_desc, group.engine_kv_format.name
    plane = desc.bs * desc.nh * desc.hs * desc.element_size
    step = desc.block_stride_elems * desc.element_size
    if step == 0:
        step = 2 * plane if "_NB_TWO_" in name else plane
    return {"format": name, "planes": desc.kv_size, "blocks": desc.nb, "slots": desc.bs,
            "heads": desc.nh, "width": desc.hs, "block_bytes": desc.kv_size * plane,
            "block_stride": step, "tokens": group.tokens_per_block}


def moved(view, read, block):
    """The bytes of a storage that LMCache moves for a block: (storage, first, length)."""
    views = view if isinstance(view, list) else [view]
    plane = read["block_bytes"] // read["planes"]
    runs = []
    for each in views:
        size = torch.empty((), dtype=getattr(torch, each["dtype"])).element_size()
        begin = each["storage_offset"] * size + block * read["block_stride"]
        if read["format"] == "NL_X_NP_X_NB_BS_ONE_HS":
            bytes_of_plane = read["slots"] * each["shape"][-1] * size
            step = read["block_stride"] if each is views[0] else bytes_of_plane
            runs.append((each["storage"], each["storage_offset"] * size + block * step,
                         bytes_of_plane))
        elif len(views) > 1:
            runs.append((each["storage"], begin, plane))
        elif read["format"].startswith("NL_X_TWO_NB"):
            runs.append((each["storage"], begin, plane))
            runs.append((each["storage"], begin + read["blocks"] * plane, plane))
        else:
            runs.append((each["storage"], begin, read["block_bytes"]))
    return merged(runs)


def merged(runs):
    """The same bytes, runs that touch as one."""
    whole = []
    for storage, begin, size in sorted(runs):
        if whole and whole[-1][0] == storage and whole[-1][1] + whole[-1][2] == begin:
            storage, begin, size = storage, whole[-1][1], whole.pop()[2] + size
        whole.append((storage, begin, size))
    return whole


def covers(runs, pages, block):
    for part in pages["parts"]:
        for offset, length in part["ranges"]:
            first = part["base"] + block * part["block_stride"] + offset
            if not any(storage == part["storage"] and begin <= first and
                       first + length <= begin + size for storage, begin, size in runs):
                return False
    return True


def owner_of(layer, report):
    """The layer whose bytes an excluded one shares, in the same group."""
    name = (layer["reason"] or "").removeprefix("shares ")
    return next((other for other in report["layers"] if other["name"] == name), None)


def right(registration, report, read):
    """Every layer it reads is read whole, block by block and with its tokens, and none is left out
    that is to be moved."""
    for layer in report["layers"]:
        took = read.get(layer["name"])
        served = layer["pages"] and layer["outcome"] != "scratch"
        if served and not took:
            return False
        if not took or layer["outcome"] == "scratch":
            continue
        owner = layer if layer["pages"] else owner_of(layer, report)
        pages = owner["pages"]
        view = layer["view"] or registration["caches"][layer["name"]]
        if took["blocks"] < pages["blocks"] or took["tokens"] != pages["tokens"]:
            return False
        for block in {0, 1, pages["blocks"] - 1} & set(range(pages["blocks"])):
            if not covers(moved(view, took, block), pages, block):
                return False
    return True


def judge(program, registration, options):
    """`right` with what is read, `wrong`, or `refused` with LMCache's reason."""
    report = report_of(program, registration, "--profile", "lmcache", *options)
    if not report["ok"]:
        purpose = [o for o in options if o in ("--purpose", "transfer", "prefix")]
        report = report_of(program, registration, *purpose)
    if not report["ok"]:
        return {"verdict": "unserved"}
    if registration.get("layout") in ("LHBNC", "BHLNC"):
        return {"verdict": "refused", "why": "NotImplementedError"}
    try:
        read = derived(registration, report, "page" in options)
    except Exception as error:  # whatever it raises is its refusal
        return {"verdict": "refused", "why": type(error).__name__}
    if not right(registration, report, read):
        return {"verdict": "wrong"}
    served = {layer["name"] for layer in report["layers"] if layer["pages"]}
    read = {name: each for name, each in read.items() if name in served}
    for each in read.values():
        del each["tokens"]
    return {"verdict": "right", "layers": read}
