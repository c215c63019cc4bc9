"""A study through nginx with our example configuration: sites reach Flower's fleet API, and nobody anything else."""

import shutil
import ssl
import subprocess
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest

import secure_sapefl
from secure_sapefl.transport.flower import free_port

EXAMPLE = Path(secure_sapefl.__file__).parents[1] / "examples" / "deployment" / "nginx-fleet-only.conf"
WHOLE = "daemon off;\npid nginx.pid;\nerror_log error.log;\nevents {{}}\nhttp {{\naccess_log access.log;\n{}\n}}\n"


def configuration(study: Any, port: int) -> str:
    """The example with this study's ports, names and certificates, and nothing else changed."""
    text = EXAMPLE.read_text()
    changes = {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "127.0.0.1:9092;": f"127.0.0.1:{study.port};",
        "study.example.org": "localhost",
        "/etc/secure-sapefl/tls": str(study.folder / "tls"),
    }
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return WHOLE.format(text)


def answer(study: Any, port: int, path: str) -> int:
    trusted = ssl.create_default_context(cafile=study.folder / "tls" / "ca.pem")
    with closing(HTTPSConnection("localhost", port, context=trusted, timeout=30)) as connection:
        connection.request("POST", path)
        return connection.getresponse().status


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx")
def test_a_study_through_the_reverse_proxy(small: Callable[..., Any], tmp_path: Path) -> None:
    study, port, folder = small(rounds=2), free_port(), tmp_path / "nginx"
    folder.mkdir()
    (folder / "nginx.conf").write_text(configuration(study, port))
    study.start_server()
    with subprocess.Popen(["nginx", "-p", folder, "-e", "error.log", "-c", folder / "nginx.conf"]) as proxy:
        try:
            for site in study.file.sites:
                study.start_site(site, "--server", f"localhost:{port}")  # the last --server counts
            study.wait_for(lambda: study.status()["closed"] >= 1)
            paths = ("/v1/control/list-runs", "/v1/runtime/pull-task-input", "/v1/fleet/register-node", "/")
            inside, outside = ({path: answer(study, at, path) for path in paths} for at in (study.port, port))
            study.wait_to_finish_well()
        finally:
            proxy.terminate()
    print(f"\nproxy: ended well; without it {inside}, through it {outside}")
    assert inside["/v1/control/list-runs"] != 404, "nothing to hide, then"
    assert outside["/v1/control/list-runs"] == outside["/v1/runtime/pull-task-input"] == outside["/"] == 404
    assert outside["/v1/fleet/register-node"] == inside["/v1/fleet/register-node"] != 404
    assert "/v1/fleet/pull-messages" in (folder / "access.log").read_text()
