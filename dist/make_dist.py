#!/usr/bin/env python3
"""Packs a release binary as people get it: an archive and a Debian package, with checksums.

    make_dist.py BINARY OUT_FOLDER

Both hold the stripped binary, man pages and completions (which the binary itself writes), our licences and those of
every crate that is compiled in. The Debian package adds systemd units. `make dist` gives a static binary; of a dynamic one
the C library that it needs is read out of its symbols and stands in the package as a dependency.

The same binary and sources give the same files, byte for byte: every date in them is that of the last commit.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAINTAINER = os.environ.get("DEBFULLNAME", "Turnstone maintainers") + " <" + os.environ.get(
    "DEBEMAIL", "maintainers@localhost") + ">"
SHELLS = {
    "bash": "usr/share/bash-completion/completions/turnstone",
    "zsh": "usr/share/zsh/vendor-completions/_turnstone",
    "fish": "usr/share/fish/vendor_completions.d/turnstone.fish",
}
DEBIAN_ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64", "armv7": "armhf", "riscv64gc": "riscv64"}


def told(*command, **options):
    """What a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def licences():
    """Every crate in the binary with its licence, and the texts that come with them, each once."""
    tree = told("cargo", "tree", "--package", "turnstone-cli", "--edges", "normal", "--prefix", "none",
                "--format", "{p}", "--locked", cwd=ROOT)
    wanted = {tuple(line.split()[:2]) for line in tree.splitlines()}
    packages = json.loads(told("cargo", "metadata", "--format-version", "1", "--locked", cwd=ROOT))["packages"]
    rows, texts = [], {}
    for package in sorted(packages, key=lambda package: (package["name"], package["version"])):
        name, version = package["name"], package["version"]
        if (name, f"v{version}") not in wanted or name.startswith("turnstone-"):
            continue
        rows.append(f"{name} {version}: {package['license'] or 'see its text'}")
        folder = pathlib.Path(package["manifest_path"]).parent
        for path in sorted(folder.iterdir()):
            if path.is_file() and re.match(r"(?i)(un)?licen[cs]e|copying|notice|copyright", path.name):
                text = path.read_text(errors="replace").strip()
                texts.setdefault(text, []).append(f"{name} {version}")
    assert rows, "no crates were found"
    parts = ["The crates that are compiled into turnstone, and their licences.\n", "\n".join(rows)]
    for text, names in texts.items():
        parts.append(f"{'=' * 100}\nOf {', '.join(names)}:\n\n{text}")
    return "\n\n".join(parts) + "\n"


def glibc(binary):
    """The newest version of the C library that the binary asks for."""
    if is_static(binary):
        return None
    symbols = told("objdump", "--dynamic-syms", str(binary))
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", symbols)}
    return ".".join(map(str, max(versions))) if versions else None


def is_static(binary):
    """Whether it asks for no interpreter: the C library is in it."""
    return "INTERP" not in told("objdump", "--private-headers", str(binary))


def packed(path, files, when):
    """A tar.gz of names and contents (mode 0755 for programs), the same bytes each time."""
    with open(path, "wb") as out, gzip.GzipFile("", "wb", mtime=when, fileobj=out) as zipped:
        with tarfile.open(fileobj=zipped, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for name, content in sorted(files.items()):
                entry = tarfile.TarInfo(name)
                entry.size, entry.mtime = len(content), when
                entry.mode = 0o755 if name.endswith("/turnstone") and "completions" not in name else 0o644
                archive.addfile(entry, io.BytesIO(content))


def debian(out, files, about, when):
    """A Debian package of files by their places below /."""
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "tree"
        for name, content in files.items():
            path = tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o755 if name == "usr/bin/turnstone" else 0o644)
        control = tree / "DEBIAN"
        control.mkdir()
        size = sum(len(content) for content in files.values()) // 1024 + 1
        (control / "control").write_text(about + f"Installed-Size: {size}\n")
        sums = (f"{hashlib.md5(content).hexdigest()}  {name}\n" for name, content in sorted(files.items()))
        (control / "md5sums").write_text("".join(sums))
        for path in [tree, *tree.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
            os.utime(path, (when, when))
        told("dpkg-deb", "--root-owner-group", "-Zgzip", "--build", str(tree), str(out),
             env={**os.environ, "SOURCE_DATE_EPOCH": str(when)})


def main(binary, out):
    out.mkdir(parents=True, exist_ok=True)
    when = int(os.environ.get("SOURCE_DATE_EPOCH") or told("git", "log", "-1", "--format=%ct", cwd=ROOT))
    target = re.search(r"host: (\S+)", told("rustc", "-vV"))[1]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        program = folder / "turnstone"
        shutil.copy(binary, program)
        told("strip", str(program))
        version = told(str(program), "--version").split()[1]
        told(str(program), "man", str(folder / "man"))
        pages = {path.name: path.read_bytes() for path in (folder / "man").iterdir()}
        completions = {shell: told(str(program), "completions", shell).encode() for shell in SHELLS}
        content = program.read_bytes()
        needs = glibc(program)
    ours = {name: (ROOT / name).read_bytes() for name in ("LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md")}
    theirs = licences().encode()

    stem = f"turnstone-{version}-{target}"
    files = {f"{stem}/turnstone": content, f"{stem}/THIRD-PARTY-LICENSES": theirs}
    files |= {f"{stem}/{name}": text for name, text in ours.items()}
    files |= {f"{stem}/man/{name}": text for name, text in pages.items()}
    files |= {f"{stem}/completions/{pathlib.Path(place).name}": completions[shell] for shell, place in SHELLS.items()}
    archive = out / f"{stem}.tar.gz"
    packed(archive, files, when)
    made = [archive]

    if shutil.which("dpkg-deb"):
        squeeze = lambda text: gzip.compress(text, mtime=when)  # noqa: E731
        docs = "usr/share/doc/turnstone"
        files = {
            "usr/bin/turnstone": content,
            f"{docs}/copyright": ours["LICENSE-MIT"] + b"\nOr, at your option:\n\n" + ours["LICENSE-APACHE"],
            f"{docs}/changelog.gz": squeeze(ours["CHANGELOG.md"]),
            f"{docs}/THIRD-PARTY-LICENSES.gz": squeeze(theirs),
        }
        files |= {f"usr/share/man/man1/{name}.gz": squeeze(text) for name, text in pages.items()}
        files |= {place: completions[shell] for shell, place in SHELLS.items()}
        for unit in (ROOT / "dist/systemd").iterdir():
            files[f"lib/systemd/system/{unit.name}"] = unit.read_bytes()
        architecture = DEBIAN_ARCHITECTURE[target.split("-")[0]]
        about = (f"Package: turnstone\nVersion: {version}\nArchitecture: {architecture}\n"
                 f"Maintainer: {MAINTAINER}\nSection: web\nPriority: optional\n"
                 + (f"Depends: libc6 (>= {needs}), libgcc-s1\n" if needs else "") +
                 "Description: decides which page to ask for next, and asks politely\n"
                 " Every crawl has fewer requests than pages. Turnstone ranks pages by policies out of research,\n"
                 " asks for the best of them politely, proves how much is stored, and keeps it current.\n")
        package = out / f"turnstone_{version}_{architecture}.deb"
        debian(package, files, about, when)
        made.append(package)
    else:
        print("no dpkg-deb here: no Debian package is made", file=sys.stderr)

    made += sorted(out.glob("*.whl"))
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in made)
    (out / "SHA256SUMS").write_text(sums)
    for path in made:
        print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")
    print(f"the binary needs glibc {needs} or newer" if needs else "the binary is static")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
