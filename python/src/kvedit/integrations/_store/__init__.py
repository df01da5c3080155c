"""What `kvedit.integrations.vllm.StoreConnector` is made of. Only `connector` knows vLLM.

| module | changes when |
|---|---|
| `keys` | what makes two blocks the same changes |
| `model`, `weights` | what makes two models the same changes |
| `files` | how a block lies in a file changes |
| `blocks` | how bytes get in and out of the engine's memory changes |
| `lookup` | what a request needs in order to resume changes |
| `plan` | what the halves tell each other changes |
| `scheduler`, `worker` | what the one or the other half has to do changes |
| `connector` | vLLM's interface changes |
"""
