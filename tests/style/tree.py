"""The files a style check looks at, and how it reports: one `file:line: what` per finding."""

import argparse
import pathlib
import shutil
import subprocess
import sys

SKIPPED_FOLDERS = {".git", "build", "__pycache__", ".cache"}


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.findings = []

    def files(self):
        """Relative paths of git's files, new ones included; without git, all but build trees."""
        listed = None
        if (self.root / ".git").exists() and shutil.which("git"):
            command = ["git", "-C", self.root, "ls-files", "-z", "--cached", "--others",
                       "--exclude-standard"]
            listed = subprocess.run(command, capture_output=True, text=True, check=False)
        if listed and listed.returncode == 0:
            names = [name for name in listed.stdout.split("\0") if name]
        else:
            names = [str(path.relative_to(self.root)) for path in self.root.rglob("*")]
        paths = [pathlib.PurePosixPath(name) for name in sorted(names)]
        return [path for path in paths
                if not SKIPPED_FOLDERS & set(path.parts) and (self.root / path).is_file()]

    def lines(self, path):
        text = (self.root / path).read_text(encoding="utf-8", errors="replace")
        return text.splitlines()

    def report(self, path, line, what):
        self.findings.append(f"{path}:{line}: {what}")


def run(check, description):
    """Runs check(tree) on --root (the repository by default); exits 1 when it found something."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    tree = Tree(parser.parse_args().root)
    looked_at = check(tree)
    for finding in tree.findings:
        print(finding)
    if tree.findings:
        sys.exit(1)
    if looked_at == 0:
        sys.exit("nothing to check: is --root right?")
    print(f"{looked_at} files, no findings")
