"""Packs the extension that `cargo test` has built, and the package beside it, as a wheel.

maturin makes the wheels that people get (`make wheel`), and builds for it once more. A test that built
everything twice would cost minutes; so this one packs what is there, by the same pyproject.toml, in the
layout that the format of wheels asks for. `make dist-test` asks the same of maturin's wheel.

    pack.py LIBRARY PACKAGE_FOLDER VERSION OUT_FOLDER
"""

import base64
import hashlib
import pathlib
import sys
import sysconfig
import tomllib
import zipfile

library, folder, version, out = sys.argv[1:]
folder = pathlib.Path(folder)
project = tomllib.loads((folder / "pyproject.toml").read_text())
name = project["project"]["name"]
stem = f"{name.replace('-', '_')}-{version}"
tag = "cp310-abi3-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
wheel = pathlib.Path(out) / f"{stem}-{tag}.whl"
scripts = project["project"]["scripts"]
module = project["tool"]["maturin"]["module-name"].replace(".", "/")

files = {
    f"{stem}.dist-info/METADATA": f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n".encode(),
    f"{stem}.dist-info/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
    f"{stem}.dist-info/entry_points.txt": "\n".join(
        ["[console_scripts]", *(f"{command} = {what}" for command, what in scripts.items()), ""]
    ).encode(),
    f"{module}.abi3.so": pathlib.Path(library).read_bytes(),
}
source = folder / project["tool"]["maturin"]["python-source"]
for path in sorted(source.rglob("*")):
    if path.is_file() and path.suffix in {".py", ".pyi", ".typed"} or path.name == "py.typed":
        files[path.relative_to(source).as_posix()] = path.read_bytes()

record = ""
for path, content in files.items():
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    record += f"{path},sha256={digest},{len(content)}\n"
files[f"{stem}.dist-info/RECORD"] = (record + f"{stem}.dist-info/RECORD,,\n").encode()
with zipfile.ZipFile(wheel, "w") as packed:
    for path, content in files.items():
        packed.writestr(path, content)
print(wheel)
