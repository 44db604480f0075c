# SPDX-License-Identifier: GPL-2.0-or-later
"""The series of a project: what hooks/PROJECT/series says, and its commits.

A line of the series is one commit: NAME.patch [NEW-FILE ...]. The patch, in git format,
has the message and the hunks on files of the base; the new files are copied whole. They
stand in this repository at the path they have in the project (qemu) or at that path
under the project's name.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "invlpgb"


class Refusal(Exception):
    """What is wrong and the way out, for the user."""
    status = 1


class DoesNotApply(Refusal):
    """A hook needs another base: another point release may do."""
    status = 2


def run(main):
    """Call main; print a Refusal in the scripts' common form."""
    try:
        main()
    except Refusal as refusal:
        print(f"{Path(sys.argv[0]).name}: error: {refusal}", file=sys.stderr)
        sys.exit(refusal.status)


def git_run(repo, *args, data=None, **env):
    """Run git in repo, free of the user's and the system's settings."""
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", **env}
    command = ["git", "-c", "safe.directory=*", "-c", "core.autocrlf=false", "-c", "gc.auto=0",
               "-C", str(repo), *map(str, args)]
    return subprocess.run(command, input=data, env=env, capture_output=True, check=False)


def git(repo, *args, **kwargs):
    """The output of a git command that must succeed."""
    done = git_run(repo, *args, **kwargs)
    if done.returncode:
        raise Refusal(f"git {args[0]} in {repo}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode(errors="surrogateescape")


def check_project(project):
    """Refuse a name that bases.conf does not have."""
    lines = (TOP / "bases.conf").read_text().splitlines()
    projects = list(dict.fromkeys(line.split()[0] for line in lines if line.strip() and line[0] != "#"))
    if project not in projects:
        raise Refusal(f"unknown project '{project}': bases.conf has {', '.join(projects)}")


def overlay_dir(project, top=TOP):
    """Where the new files of a project stand."""
    return top if project == "qemu" else top / project


class Series:
    """The series of a project as the repository, or another directory like it, has it."""

    def __init__(self, project, top=TOP):
        self.top = top
        self.hooks = top / "hooks" / project
        self.overlay = overlay_dir(project, top)
        self.commits = []
        path = self.hooks / "series"
        self.text = path.read_text() if path.exists() else ""
        owners = {}
        for number, line in enumerate(self.text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            name, *files = line.split()
            where = f"{path}:{number}"
            if not (self.hooks / name).is_file():
                raise Refusal(f"{where}: no file {self.hooks / name}")
            if name in (other for other, _ in self.commits):
                raise Refusal(f"{where}: {name} is listed twice")
            for file in files:
                if file.startswith("/") or ".." in file.split("/"):
                    raise Refusal(f"{where}: {file} is not a path inside the project")
                if not (self.overlay / file).is_file():
                    raise Refusal(f"{where}: new file {self.overlay / file} does not exist")
                if file in owners:
                    raise Refusal(f"{where}: new file {file} already belongs to {owners[file]}:"
                                  " a new file belongs to exactly one commit")
                owners[file] = name
            self.commits.append((name, files))

    def key(self, base):
        """A name for what the series makes of a base: the hash of all that goes in."""
        key = hashlib.sha256(base.encode())
        for name, files in self.commits:
            for path in [self.hooks / name, *(self.overlay / file for file in files)]:
                content = path.read_bytes()
                key.update(f"{path.relative_to(self.top)} {mode(path)} {len(content)}\n".encode())
                key.update(content)
        return key.hexdigest()[:16]

    def paths(self):
        """All that the series consists of, as paths in the repository."""
        paths = [self.hooks / "series"] if self.text else []
        for name, files in self.commits:
            paths += [self.hooks / name, *(self.overlay / file for file in files)]
        return {path.relative_to(self.top) for path in paths}

    def read(self, repo, name, scratch):
        """Split a hook into its header, which is returned, scratch/body and scratch/diff, as git am does."""
        hook = self.hooks / name
        info = git(repo, "mailinfo", scratch / "body", scratch / "diff", data=hook.read_bytes())
        header = dict(line.split(": ", 1) for line in info.splitlines() if ": " in line)
        for field in "Author", "Email", "Subject", "Date":
            if field not in header:
                raise Refusal(f"{hook} has no {field} in its header: it is not a patch in git format")
        return header

    def apply(self, repo):
        """Commit the series on repo's branch "base"; return the last commit.

        Nothing but a ref that names the result, so that it is made only once, changes in repo.
        """
        commit = git(repo, "rev-parse", "refs/heads/base").strip()
        ref = f"refs/series/{self.key(commit)}"
        known = git_run(repo, "rev-parse", "-q", "--verify", ref).stdout.decode().strip()
        if known:
            return known
        with tempfile.TemporaryDirectory() as scratch:
            git(repo, "read-tree", "refs/heads/base", GIT_INDEX_FILE=f"{scratch}/index")
            new = set()
            for name, files in self.commits:
                commit = self.apply_one(repo, Path(scratch), commit, name, files, new)
                new.update(files)
        git(repo, "update-ref", ref, commit)
        return commit

    def apply_one(self, repo, scratch, parent, name, files, new):
        """Commit one line of the series on parent."""
        env = {"GIT_INDEX_FILE": f"{scratch}/index"}
        hook = self.hooks / name
        header = self.read(repo, name, scratch)
        if re.search(rb"^(diff --git|---|\+\+\+|@@) ", (scratch / "diff").read_bytes(), re.M):
            special = git(repo, "apply", "--summary", scratch / "diff").strip()
            if special:
                raise Refusal(f"{hook} does more than change lines ({special}): a new file is"
                              " listed in the series, nothing of the base is removed or renamed")
            stat = git(repo, "apply", "--numstat", "-z", scratch / "diff")
            for path in (line.split("\t")[2] for line in stat.split("\0") if line):
                if path in new or path in files:
                    raise Refusal(f"{hook} changes {path}, a new file of the series: change the file itself")
            done = git_run(repo, "apply", "--cached", "--whitespace=nowarn", scratch / "diff", **env)
            if done.returncode:
                subject = git(repo, "log", "-1", "--format=%s", "refs/heads/base").strip()
                raise DoesNotApply(f"{hook} does not apply, without fuzz, to {subject}:\n"
                                   f"{done.stderr.decode(errors='replace').rstrip()}\n"
                                   "adapt the hook: its context must be the base's")
        elif not files:
            raise Refusal(f"{hook} neither has a diff nor brings new files")
        for file in files:
            if git(repo, "ls-files", "--", file, **env):
                raise Refusal(f"new file {file} exists in the base: a change to it belongs in {hook}")
            blob = git(repo, "hash-object", "-w", self.overlay / file, "--path", file).strip()
            git(repo, "update-index", "--add", "--cacheinfo", f"{mode(self.overlay / file)},{blob},{file}", **env)
        tree = git(repo, "write-tree", **env).strip()
        body = (scratch / "body").read_bytes()
        message = header["Subject"].encode(errors="surrogateescape") + (b"\n\n" + body if body.strip() else b"\n")
        return git(repo, "commit-tree", tree, "-p", parent, data=message,
                   GIT_AUTHOR_NAME=header["Author"], GIT_AUTHOR_EMAIL=header["Email"], GIT_AUTHOR_DATE=header["Date"],
                   GIT_COMMITTER_NAME=header["Author"], GIT_COMMITTER_EMAIL=header["Email"],
                   GIT_COMMITTER_DATE=header["Date"]).strip()


def mode(path):
    """The mode of a file as git has it."""
    return "100755" if os.access(path, os.X_OK) else "100644"
