"""What vLLM leaves open to a KV connector, 0.25 to 0.33: stand-ins of its base classes."""

import importlib
import sys
import types
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

BASE = "vllm.distributed.kv_transfer.kv_connector.v1.base"


class KVConnectorMetadata(ABC):  # noqa: B024
    pass


class KVConnectorHandshakeMetadata(ABC):  # noqa: B024
    pass


@dataclass
class KVConnectorTransferResults:
    finished_sending: set = field(default_factory=set)
    finished_recving: set = field(default_factory=set)
    failed_recving: set = field(default_factory=set)


class SupportsHMA(ABC):
    @abstractmethod
    def request_finished_all_groups(self, request, block_ids): ...


class KVConnectorBase_V1(ABC):
    """What vLLM 0.25 to 0.33 leave open."""

    def __init__(self, vllm_config, role, kv_cache_config=None):
        self._vllm_config, self._role, self._kv_cache_config = vllm_config, role, kv_cache_config
        self._connector_metadata = None

    def bind_connector_metadata(self, metadata):
        self._connector_metadata = metadata

    def _get_connector_metadata(self):
        return self._connector_metadata

    @abstractmethod
    def start_load_kv(self, forward_context, **kwargs): ...
    @abstractmethod
    def wait_for_layer_load(self, layer_name): ...
    @abstractmethod
    def save_kv_layer(self, layer_name, kv_layer, attn_metadata, **kwargs): ...
    @abstractmethod
    def wait_for_save(self): ...
    @abstractmethod
    def get_num_new_matched_tokens(self, request, num_computed_tokens): ...
    @abstractmethod
    def update_state_after_alloc(self, request, blocks, num_external_tokens): ...
    @abstractmethod
    def build_connector_meta(self, scheduler_output): ...


def connectors(monkeypatch):
    """`kvedit.integrations.vllm` on these."""
    for name in (BASE, *(BASE.rsplit(".", back)[0] for back in range(1, BASE.count(".") + 1))):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    base = sys.modules[BASE]
    monkeypatch.setattr(sys.modules[BASE.rpartition(".")[0]], "base", base, raising=False)
    for each in (KVConnectorMetadata, KVConnectorHandshakeMetadata, KVConnectorTransferResults,
                 SupportsHMA, KVConnectorBase_V1):  # fmt: skip
        setattr(base, each.__name__, each)
    forget()
    return importlib.import_module("kvedit.integrations.vllm")


def forget():
    for name in ("vllm", "_block_connector", "_store.connector"):
        sys.modules.pop(f"kvedit.integrations.{name}", None)
