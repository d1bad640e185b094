from io import StringIO
from pathlib import Path

import pytest

from deploy.local import __main__ as local
from deploy.local.plan import make_plan
from deploy.local.settings import LocalStackSettings
from deploy.local.stack import LocalStack
from deploy.local.waiting import Progress, StartError


@pytest.mark.parametrize(("user", "is_told"), [(0, True), (1000, False)])
def test_a_start_as_root_says_so(
    user: int,
    is_told: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    plan = make_plan(LocalStackSettings.model_validate({"local_dir": tmp_path}), {})

    with pytest.raises(StartError, match="neither a file nor"):
        local._start(LocalStack(plan, Progress(StringIO())), "/no/such/file", tied_to_caller=False)

    assert ("runs as root" in capsys.readouterr().err) is is_told
