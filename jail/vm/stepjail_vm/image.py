# SPDX-License-Identifier: MIT
"""image.py - stepjail vm build: what guests are booted with

kernel      Debian's cloud kernel, out of its package: apt checks it against signed lists
initrd      the kernel's modules, PID 1, stepjail and its init, lists of the trees
NAME.erofs  each shipped root tree, read-only
qemu/       the root tree of QEMU's own jail: QEMU, its libraries, its firmware
info.json   versions, and the digest of each file above
template.json, ram, state   see template.py

The same inputs make the same bytes. All is made beside, in a folder that is closed to others, and
put in place when it is whole.
"""
import contextlib
import fcntl
import glob
import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
import tempfile

from . import Failed

QEMU = "/usr/bin/qemu-system-x86_64"
FIRMWARE = "/usr/share/qemu"
PLUGINS = "/usr/lib/x86_64-linux-gnu/qemu"
META = "linux-image-cloud-amd64"
MODULES = ("virtio_mmio", "virtio_blk", "virtio_console", "virtio_net", "erofs", "overlay")
TOOLS = {QEMU: "qemu-system-x86", "/usr/bin/mkfs.erofs": "erofs-utils", "/usr/bin/apt-get": "apt",
         "/usr/bin/dpkg-deb": "dpkg", "/usr/bin/setpriv": "util-linux"}
FOLDERS = ("dev", "proc", "sys", "tmp", "run", "mnt", "etc", "modules", "given", "stepjail", "stepjail/rootfs")
PROGRAMS = ("stepjail", "stepjail-init")
HOST_FOLDER = "/var/lib/stepjail/vm"
BUILDING = "guest.new."
UUID = "00000000-0000-0000-0000-000000000000"
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}


def folders(home):
    """Where an image may be, the caller's own first, which is where it is made. Root's are the
    host's; that of a build folder is in there."""
    if os.path.exists(f"{home}/stepjail"):
        return [f"{home}/guest"]
    if os.geteuid() == 0:
        return [HOST_FOLDER]
    return [os.path.join(os.environ.get("HOME") or "/nonexistent", ".local/share/stepjail/vm"), HOST_FOLDER]


def missing():
    """The packages that lack."""
    return sorted({package for tool, package in TOOLS.items() if not os.access(tool, os.X_OK)})


def run(*words, **options):
    """stdout; what fails is told by its last line. It is killed with this process, however that ends."""
    done = subprocess.run(["/usr/bin/setpriv", "--pdeathsig=KILL", *words], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, **options)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Failed(f"{os.path.basename(words[0])} failed: {said[-1] if said else f'status {done.returncode}'}")
    return done.stdout


def make_erofs(source, to, owner_root=False):
    """An image of a folder, into an open file, from its start; owners are kept, or all root's."""
    run("/usr/bin/mkfs.erofs", "--quiet", "-T0", f"-U{UUID}", *(["--all-root"] if owner_root else []),
        f"/dev/fd/{to.fileno()}", source, pass_fds=[to.fileno()])


def digest(path):
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            found.update(piece)
    return found.hexdigest()


def fetch_kernel(work, earlier):
    """(the package's tree, its version, its file): downloaded and unpacked, not installed. An
    earlier image's package is taken where it is the one that apt's signed list names."""
    shown = run("/usr/bin/apt-cache", "show", "--no-all-versions", META)
    name = re.search(r"^Depends:.*?(linux-image-[^ ,]+)", shown, re.M)
    if not name:
        raise Failed(f"apt knows no {META}: run apt-get update as root")
    listed = re.search(r"^SHA256: (\w+)", run("/usr/bin/apt-cache", "show", "--no-all-versions", name[1]), re.M)
    package = f"{earlier}/kernel.deb"
    if not (listed and os.path.exists(package) and digest(package) == listed[1]):
        run("/usr/bin/apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", name[1], cwd=work)
        package = glob.glob(f"{work}/*.deb")[0]
    tree = os.path.join(work, "tree")
    run("/usr/bin/dpkg-deb", "-x", package, tree)
    return tree, os.listdir(f"{tree}/lib/modules")[0], package


def unpack_kernel(image):
    """The ELF file inside of a bzImage, so that no guest has to unpack it; or the bzImage.
    Kernel: Documentation/x86/boot.rst"""
    at = int.from_bytes(image[0x248:0x24c], "little") + (image[0x1f1] + 1) * 512
    packed = image[at:at + int.from_bytes(image[0x24c:0x250], "little")]
    for tool in ("lz4", "zstd", "xz", "gzip"):
        if path := shutil.which(tool, path=ENVIRONMENT["PATH"]):
            # its unpacked size follows, which no tool likes
            found = subprocess.run([path, "-dc"], input=packed[:-4], env=ENVIRONMENT, capture_output=True, check=False)
            if found.returncode == 0 and found.stdout.startswith(b"\x7fELF"):
                return found.stdout
    return image


def take_modules(tree, version):
    """[(name, bytes)], each behind those that it depends on."""
    paths = {re.split(r"\.ko", os.path.basename(path))[0].replace("-", "_"): path
             for path in glob.glob(f"{tree}/lib/modules/{version}/**/*.ko*", recursive=True)}
    taken = {}

    def take(name):
        if name in taken or name not in paths:
            return  # what has no file is built in
        with (lzma.open if paths[name].endswith(".xz") else open)(paths[name], "rb") as file:
            content = file.read()
        for needed in re.search(rb"\0depends=([^\0]*)", content)[1].decode().split(","):
            take(needed.replace("-", "_"))
        taken[name] = content

    for name in MODULES:
        take(name)
    return list(taken.items())


def cpio(entries):
    """An archive in the form newc of (name, mode, bytes), all root's.
    Kernel: Documentation/driver-api/early-userspace/buffer-format.rst"""
    archive = bytearray()
    for number, (name, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")]):
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        archive += b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
        archive += bytes(-len(archive) % 4) + content
        archive += bytes(-len(archive) % 4)
    return bytes(archive)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def make_initrd(home, trees, modules):
    entries = [(name, 0o40755, b"") for name in FOLDERS]
    entries += [(f"stepjail/rootfs/{os.path.basename(tree)}", 0o40755, b"") for tree in trees]
    entries += [("init", 0o100755, read(f"{home}/stepjail-vm-init"))]
    entries += [(f"modules/{name}.ko", 0o100644, content) for name, content in modules]
    entries += [("modules/list", 0o100644, "".join(f"/modules/{name}.ko\n" for name, _ in modules).encode())]
    entries += [(f"stepjail/{name}", 0o100755, read(program_path(home, name))) for name in PROGRAMS]
    entries += [("stepjail/stepjail-egress", 0o100755, read(f"{home}/stepjail-vm-egress"))]
    for tree in trees:
        entries += [(f"stepjail/rootfs/{os.path.basename(path)}", 0o100644, read(path))
                    for path in (f"{tree}.sha256", f"{tree}.sha256.sum") if os.path.exists(path)]
    return cpio(entries)


def program_path(home, name):
    """Beside this program, or where `make install` puts it."""
    for path in (f"{home}/{name}", f"{home}/../../bin/{name}"):
        if os.path.exists(path):
            return path
    raise Failed(f"{name} is not beside {home}: run make, or make install")


def make_qemu(home, to):
    """QEMU with what it opens, and nothing else of the host's."""
    def put(path, place=None):
        place = to + (place or path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copyfile(os.path.realpath(path), place)
        os.chmod(place, 0o755)

    for name in ("work", "tmp", "dev", "proc", "vm", "disk"):
        os.makedirs(f"{to}/{name}")
    put(f"{home}/stepjail-vm-ram.so", "/lib/stepjail-vm-ram.so")
    put(QEMU, "/usr/bin/qemu")  # it looks for the rest from there
    for name in ("qboot.rom", "linuxboot_dma.bin", "pvh.bin", "bios-microvm.bin"):
        put(f"{FIRMWARE}/{name}")
    accelerator = f"{PLUGINS}/accel-tcg-x86_64.so"
    programs = [QEMU] + ([accelerator] if os.path.exists(accelerator) else [])
    for program in programs:
        for path in re.findall(r"(/\S+) \(0x", run("/usr/bin/ldd", program)):
            put(path)
    for program in programs[1:]:
        put(program)


def build(home, memory, make_template, say):
    lacking = missing()
    if lacking:
        raise Failed(f"missing: {' '.join(lacking)}: as root: apt-get install --no-install-recommends "
                     f"{' '.join(lacking)}")
    trees = sorted(path[:-len(".sha256")] for path in glob.glob(f"{home}/rootfs/*.sha256"))
    if not trees:
        raise Failed(f"there is no root tree in {home}/rootfs: run make rootfs")
    os.umask(0o022)
    place = folders(home)[0]
    around = os.path.dirname(place)
    os.makedirs(around, exist_ok=True)
    alone = os.open(around, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(alone, fcntl.LOCK_EX)
    for left in glob.glob(f"{around}/{BUILDING}*"):  # by builds that were killed, as this is the only one
        shutil.rmtree(left)
    closed = tempfile.mkdtemp(prefix=BUILDING, dir=around)
    try:
        new = f"{closed}/guest"
        os.mkdir(new)
        with tempfile.TemporaryDirectory(dir=closed) as work:
            tree, version, package = fetch_kernel(work, place)
            shutil.copyfile(package, f"{new}/kernel.deb")
            with open(f"{new}/kernel", "wb") as file:
                file.write(unpack_kernel(read(f"{tree}/boot/vmlinuz-{version}")))
            with open(f"{new}/initrd", "wb") as file:
                file.write(make_initrd(home, trees, take_modules(tree, version)))
        say(f"kernel {version}")
        for path in trees:
            with open(f"{new}/{os.path.basename(path)}.erofs", "wb") as file:
                make_erofs(path, file, owner_root=True)
            say(f"tree {os.path.basename(path)}")
        make_qemu(home, f"{new}/qemu")
        info = {"kernel": version, "qemu": qemu_version(), "source": source_key(home), "marks": marks(source_files(home)),
                "sha256": {os.path.basename(path): digest(path) for path in sorted(glob.glob(f"{new}/*"))
                           if os.path.isfile(path)}}
        write_json(f"{new}/info.json", info)
        write_json(f"{new}/template.json", make_template(home, new, memory))
        say("template")
        shutil.rmtree(place, ignore_errors=True)
        os.rename(new, place)
    finally:
        shutil.rmtree(closed, ignore_errors=True)
        os.close(alone)
    say(f"image {place}")


def write_json(path, what):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(what, file, indent=1)


def rewrite_json(path, what):
    """Where it is the caller's folder: in another's, a link could be in the way."""
    if os.stat(os.path.dirname(path)).st_uid == os.geteuid():
        with contextlib.suppress(OSError):
            write_json(f"{path}.{os.getpid()}", what)
            os.chmod(f"{path}.{os.getpid()}", 0o644)
            os.rename(f"{path}.{os.getpid()}", path)


def trees(place):
    """Those that an image has, in the order in which a template has them."""
    return sorted(os.path.basename(path).removesuffix(".erofs") for path in glob.glob(f"{place}/*.erofs"))


def qemu_version():
    return run(QEMU, "--version").splitlines()[0].removeprefix("QEMU emulator version ")


def source_files(home):
    """What an image is made of: this build's programs and trees, and this host's QEMU."""
    return [*sorted(glob.glob(f"{home}/rootfs/*.sha256.sum")), QEMU,
            *(f"{home}/{name}" for name in ("stepjail-vm-init", "stepjail-vm-egress", "stepjail-vm-ram.so")),
            *(program_path(home, name) for name in PROGRAMS)]


def source_key(home):
    """Of their content: a folder that was copied is the same build."""
    found = hashlib.sha256()
    for path in source_files(home):
        found.update(f"{os.path.basename(path)} {digest(path)}\n".encode())
    return found.hexdigest()


def marks(paths):
    """What tells that files are those of before, without reading them."""
    return {path: [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]
            for path in paths for stat in [os.stat(path)]}


def find(home):
    """(folder, info) of an image that was made of what is here now."""
    places = folders(home)
    place = next((each for each in places if os.path.exists(f"{each}/info.json")), places[0])
    try:
        with open(f"{place}/info.json", encoding="utf-8") as file:
            info = json.load(file)
        if os.stat(place).st_uid not in (0, os.geteuid(), os.stat(home).st_uid):
            raise Failed(f"{place} belongs to somebody else: remove it")
    except (OSError, ValueError):
        raise Failed(f"there is no image in {place}: run stepjail vm build") from None
    if not os.access(QEMU, os.X_OK):
        raise Failed(f"{QEMU} is missing: as root: apt-get install --no-install-recommends qemu-system-x86")
    if info.get("marks") != (now := marks(source_files(home))):
        if info["source"] != source_key(home):
            raise Failed(f"the image in {place} is of another build of stepjail, or of QEMU: run stepjail vm build")
        rewrite_json(f"{place}/info.json", {**info, "marks": now})
    return place, info
