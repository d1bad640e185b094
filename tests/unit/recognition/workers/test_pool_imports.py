import subprocess
import sys


def test_the_pool_leaves_the_engine_to_its_processes() -> None:
    program = (
        "import sys, recognition.workers.pool; "
        "print({'cv2', 'numpy', 'onnxruntime'} & {*sys.modules})"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert found.stdout.strip() == "set()"
