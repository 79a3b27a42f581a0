"""The files of examples/deploy; with `make deploy`, what comes of them on a clean Debian."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import expect, sync_playwright
from ruamel.yaml import YAML

from tests.support import ROOT
from tests.support.browser.chromium import find_chromium
from tests.support.ports import free_port
from tests.support.postgres_server import PostgresServer

FOLDER = ROOT / "examples" / "deploy"
PASSWORD, KEY = "let-me-in", "service-key"
PATIENCE_S = 120.0
VARIABLE = re.compile(r"\$\{(\w+)")


# ------------------------------------------------------------------------------------------------- the files


def test_the_compose_file_starts_the_four_parts_from_files_that_exist():
    reader: Any = YAML(typ="safe")
    compose: dict[str, Any] = reader.load(FOLDER / "compose.yaml")
    services = compose["services"]
    assert set(services) == {"database", "dashboard", "service", "proxy"}
    assert "ports" not in services["dashboard"] and "ports" not in services["service"]  # the proxy alone is reached
    build = services["dashboard"]["build"]
    context = (FOLDER / build["context"]).resolve()
    assert context == ROOT and (context / build["dockerfile"]).is_file()
    assert (FOLDER / "Caddyfile").is_file()


def test_every_setting_of_the_compose_file_is_in_the_example_and_no_secret_is():
    used = set(VARIABLE.findall((FOLDER / "compose.yaml").read_text("utf-8")))
    lines = (FOLDER / "settings.example").read_text("utf-8").splitlines()
    given = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    assert used == given.keys()
    assert not any(given[name].strip("'") for name in given if name.endswith(("PASSWORD", "KEY", "TOKEN", "HASH")))


def test_the_image_installs_what_the_project_requires_and_the_scripts_are_shell():
    text = (FOLDER / "Containerfile").read_text("utf-8")
    for name in re.findall(r"requirements[\w-]*\.txt", text):
        assert (ROOT / name).is_file()
    for name in ("start.sh", "debian.sh"):
        shell = (FOLDER / name).read_text("utf-8").split("\n", 1)[0].removeprefix("#!").split()[-1].split("/")[-1]
        assert subprocess.run([shell, "-n", FOLDER / name], check=False).returncode == 0
        assert os.access(FOLDER / name, os.X_OK)


@pytest.mark.parametrize(
    ("arguments", "problem"), [((), "Set PUBLIC_NAME"), (("database",), "starts dashboard or service")]
)
def test_a_start_without_what_it_needs_says_so(arguments: tuple[str, ...], problem: str):
    environment = {"PATH": os.environ["PATH"], **({"PUBLIC_NAME": "localhost"} if arguments else {})}
    done = subprocess.run(
        [FOLDER / "start.sh", *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and problem in done.stderr


# --------------------------------------------------------------------------------------------- on a clean Debian


@dataclass
class Deployment:
    """A Debian in a folder, and what was started of it."""

    folder: Path
    database: PostgresServer
    logs: Path
    stack: ExitStack = field(default_factory=ExitStack)

    def start(self, part: str, *options: str, data: str, **more: str) -> None:
        """As the image's user, with nothing of this process's environment."""
        own = {
            "PATH": "/usr/bin:/bin",
            "HOME": "/var/lib/craftscope",
            "PUBLIC_NAME": "localhost",
            "CRAFTSCOPE_DB_URL": self.database.url,
            "CRAFTSCOPE_DATA_DIR": f"/var/lib/craftscope/{data}",
            "CRAFTSCOPE_MAX_WORKERS": "2",
            **more,
        }
        chroot = str(shutil.which("chroot"))
        command = [chroot, "--userspec=craftscope", str(self.folder), "/opt/craftscope/examples/deploy/start.sh"]
        self._run([*command, part, *options], own, data)

    def proxy(self, port: int, dashboard: int, service: int) -> None:
        hashed = subprocess.check_output(["caddy", "hash-password", "--plaintext", PASSWORD], text=True).strip()
        own = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.logs),
            "SITE_ADDRESS": f"http://localhost:{port}",
            "LOGIN_USER": "me",
            "LOGIN_HASH": hashed,
            "DASHBOARD": f"127.0.0.1:{dashboard}",
            "SERVICE": f"127.0.0.1:{service}",
        }
        self._run(
            [str(shutil.which("caddy")), "run", "--config", str(FOLDER / "Caddyfile"), "--adapter", "caddyfile"],
            own,
            "caddy",
        )

    def _run(self, command: list[str], environment: dict[str, str], name: str) -> None:
        log = self.stack.enter_context((self.logs / f"{name}.log").open("wb"))
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        self.stack.callback(process.wait, 60)
        self.stack.callback(process.terminate)


@contextmanager
def a_clean_debian(folder: Path) -> Iterator[Path]:
    """What debian.sh makes, with the kernel's files that programs read."""
    subprocess.run([FOLDER / "debian.sh", folder], check=True, stdout=subprocess.DEVNULL)
    mounted = [folder / "proc"]
    try:
        subprocess.run(["mount", "--bind", "/proc", folder / "proc"], check=True)
        yield folder
    finally:
        for place in mounted:
            subprocess.run(["umount", "--lazy", place], check=False)


def until(look: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            if found := look():
                return found
        except httpx2.TransportError:
            pass
        assert time.monotonic() < deadline
        time.sleep(0.2)


@pytest.mark.deploy
def test_a_login_two_dashboards_and_the_service_on_one_database(postgres: PostgresServer, tmp_path: Path):
    missing = [name for name in ("debootstrap", "caddy", "chroot") if shutil.which(name) is None]
    assert not missing, f"install {', '.join(missing)}"
    chromium = find_chromium()
    assert chromium is not None
    logs = tmp_path / "logs"
    logs.mkdir()
    ports = [free_port() for _ in range(4)]
    site, first, second, service = ports
    with ExitStack() as stack:
        folder = stack.enter_context(a_clean_debian(tmp_path / "debian"))
        deployed = Deployment(folder, postgres, logs, stack)
        for port, data in ((first, "one"), (second, "two")):
            deployed.start("dashboard", "--server.address=127.0.0.1", f"--server.port={port}", data=data)
        deployed.start("service", "--host=127.0.0.1", f"--port={service}", data="three", CRAFTSCOPE_SERVICE_KEY=KEY)
        deployed.proxy(site, first, service)
        url = f"http://localhost:{site}"
        with httpx2.Client(base_url=url, trust_env=False, timeout=PATIENCE_S) as anyone:
            until(lambda: anyone.get("/").status_code == 401)
            assert anyone.get("/service/health", headers={"X-API-Key": KEY}).status_code == 401
        with httpx2.Client(base_url=url, auth=("me", PASSWORD), trust_env=False, timeout=PATIENCE_S) as me:
            until(lambda: me.get("/_stcore/health").status_code == 200)
            until(lambda: me.get("/service/").status_code == 200)
            assert me.get("/service/health").status_code == 401
            assert me.get("/service/health", headers={"X-API-Key": KEY}).json()["healthy"]
            request = {
                "run_id": "asked-for",
                "env": {"seed": 1},
                "policy": {"policy_name": "scripted", "config": {"max_llm_calls": 20}},
            }
            answer = me.post("/service/rollout", json=request, headers={"X-API-Key": KEY})
            assert answer.status_code == 200 and answer.json()["metrics"]["num_steps"] == 20
            assert me.get("/service/openenv/health").status_code == 200  # on loopback without a token
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            login: Any = {"username": "me", "password": PASSWORD}
            page = browser.new_context(http_credentials=login).new_page()
            page.set_default_timeout(PATIENCE_S * 1000)
            page.goto(f"{url}/run?id=asked-for")
            expect(page.get_by_text("completed").first).to_be_visible(timeout=PATIENCE_S * 1000)
            page.goto(f"{url}/launch?play=3&by=scripted&max_steps=100")
            page.get_by_role("button", name="Launch 1 episode").click()
            page.wait_for_url(re.compile(r"/run\?id="))
            run_id = page.url.split("id=")[1]
            expect(page.get_by_text("100 of 100 steps").first).to_be_visible(timeout=PATIENCE_S * 1000)
            other = browser.new_context().new_page()  # the second dashboard, without the proxy
            other.goto(f"http://localhost:{second}/run?id={run_id}")
            expect(other.get_by_text("100 of 100 steps").first).to_be_visible(timeout=PATIENCE_S * 1000)
            browser.close()
