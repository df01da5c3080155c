"""What `kvedit.integrations.vllm.StoreConnector` is made of. No module here imports vLLM.

| module | changes when |
|---|---|
| `keys` | what makes two blocks the same changes |
| `files` | how a block lies in a file changes |
| `blocks` | how bytes get in and out of the engine's memory changes |
| `scheduler`, `worker` | vLLM's contract with the one or the other half of a connector changes |
"""
