"""The examples of docs/ci.md, taken out of it and run as they stand."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "ci.md"
GRAPH = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: {name}
spec:
  backendFramework: vllm
  components:
    - name: frontend
      type: frontend
      replicas: 1
      podTemplate:
        spec:
          containers:
            - name: main
              image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.3.0
    - name: worker
      type: worker
      replicas: 1
      podTemplate:
        spec:
          containers:
            - name: main
              image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.3.0
              command: [python3, -m, dynamo.vllm]
              args: [--model, Qwen/Qwen3-0.6B, --tensor-parallel-size, "{gpus}"]
              resources: {{limits: {{nvidia.com/gpu: "{gpus}"}}}}
"""
SERVES = re.compile(r"^submitted (\S+)\n\1 serves\n$")


def example(language: str) -> str:
    """The page's first block of a language."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


def run(directory: Path, command: list[str], graph: str, variables: dict[str, str]) -> Any:
    """What a command of a pipeline says, in a directory that has the examples and the graph."""
    for name, text in (("graph.yaml", graph), ("deploy.sh", example("bash")), ("deploy.py", example("python"))):
        (directory / name).write_text(text)
    environment = os.environ | variables
    return subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
