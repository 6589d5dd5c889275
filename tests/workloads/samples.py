"""Manifests as people paste them."""

# disagg.yaml of the Dynamo repository with namespace, image tag and KAI's annotations set (journey J5 a).
DISAGG = """\
# Disaggregated serving
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: vllm-disagg
  namespace: runai-project-a
  annotations:
    kai.scheduler/topology-preferred-placement: "topology.kubernetes.io/zone"
    kai.scheduler/topology: "topology-1"
spec:
  services:
    Frontend:
      dynamoNamespace: vllm-disagg
      componentType: frontend
      replicas: 1
      extraPodSpec:
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.0.0
    VllmDecodeWorker:
      dynamoNamespace: vllm-disagg
      envFromSecret: hf-token-secret
      componentType: worker
      subComponentType: decode
      replicas: 2  # as many as prefill
      resources:
        limits:
          gpu: "1"
      extraPodSpec:
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.0.0
          workingDir: /workspace/components/backends/vllm
          command: [python3, -m, dynamo.vllm]
          args: [--model, Qwen/Qwen3-0.6B]
    VllmPrefillWorker:
      dynamoNamespace: vllm-disagg
      envFromSecret: hf-token-secret
      componentType: worker
      subComponentType: prefill
      replicas: 1
      resources:
        limits:
          gpu: "1"
      extraPodSpec:
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.0.0
          workingDir: /workspace/components/backends/vllm
          command: [python3, -m, dynamo.vllm]
          args: [--model, Qwen/Qwen3-0.6B, --disaggregation-mode, prefill]
"""

MULTINODE = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: qwen
spec:
  backendFramework: sglang
  components:
    - name: frontend
      type: frontend
      podTemplate:
        spec:
          containers:
            - name: main
              image: nvcr.io/nvidia/ai-dynamo/sglang-runtime:1.6.1
    - name: decode
      type: decode
      replicas: 2
      minAvailable: 2
      multinode: {nodeCount: 2}
      sharedMemorySize: 16Gi
      podTemplate:
        spec:
          containers:
            - name: main
              image: nvcr.io/nvidia/ai-dynamo/sglang-runtime:1.6.1
              command: [python3, -m, dynamo.sglang]
              args: [--model-path, Qwen/Qwen3-32B, --tp-size, "8"]
              envFrom: [{secretRef: {name: hf-token-secret}}]
              resources: {limits: {nvidia.com/gpu: 4}}
"""

# Copied widely, fits no installed CRD (journey J5 b).
FICTION = """\
apiVersion: dynamo.nvidia.com/v1
kind: DynamoDeployment
metadata:
  name: qwen-7b
  annotations:
    kai.scheduler/topology-preferred-placement: "topology.kubernetes.io/zone"
spec:
  model: Qwen/Qwen-7B
  prefill: {replicas: 4, resources: {limits: {nvidia.com/gpu: 1}}}
  decode: {replicas: 8, resources: {limits: {nvidia.com/gpu: 1}}}
"""
