#!/bin/sh
# Removes files that no process of the service loads from a virtual environment.
set -eu
packages="$1/lib/python3.11/site-packages"

# Tests, headers and stubs of libraries; onnxruntime's tools; OpenVINO's unused devices and formats.
find "$packages" -type d \( -name tests -o -name test -o -name include \) -prune -exec rm -rf {} +
find "$packages" -name '*.pyi' -delete
for tool in transformers quantization tools datasets; do
    rm -rf "$packages/onnxruntime/$tool"
done
for part in intel_gpu_plugin intel_npu tensorflow pytorch paddle jax gguf; do
    rm -f "$packages/openvino/libs/libopenvino_${part}"*
done
rm -rf "$packages/openvino/libs/cache.json" "$packages/cv2/data"/*.xml "$packages/Crypto/SelfTest"
