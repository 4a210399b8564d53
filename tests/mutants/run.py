#!/usr/bin/env python3
"""Would the tests notice? Puts one bug at a time into a copy of the tree, builds, and runs the tests that should fail.

    make mutants                     all of them, with the percentage caught
    make mutants MUTANTS='viz M07'   those of an area, or by name
    tests/mutants/run.py --list      names and areas; says which are stale, and builds nothing

The bugs are in tests/mutants/*.mutants, one after another:

    M07 measured: the fastest rank's time stands for all
    in real/train/report.c
    by test_measured mpi_train@2
    - if (all[i].time.step > slowest->time.step)
    + if (all[i].time.step < slowest->time.step)

The old text must stand in the file exactly once; how it is broken into lines and indented does not matter. A bug whose
text is gone is stale, which is an error: the one who moved the code says where the bug would be now. Tests are named as
`make check` names them, a suite of MPI with its ranks. The copy is BUILD/mutants, made anew each time; what it is built
with comes from MAKEFLAGS. Needs python3; takes some ten seconds a bug.

Exit status: 1 when fewer than nine in ten are caught, when one is stale, or when a test fails without any bug.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

ENOUGH = 90  # percent
TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
COPY = "build/mutants"


class Mutant:
    def __init__(self, head, where):
        self.name, self.area, self.what = re.fullmatch(r"(\S+) (\w+): (.+)", head).groups()
        self.where, self.file, self.tests, self.old, self.new = where, None, [], [], []

    def add(self, line):
        if line.startswith("in "):
            self.file = line[3:].strip()
        elif line.startswith("by "):
            self.tests += line[3:].split()
        elif line[0] in "-+":
            (self.old if line[0] == "-" else self.new).append(line[1:].strip())
        else:
            sys.exit(f"fatal: {self.where}: '{line}' is neither in, by, - nor +")

    def place(self, text):
        """The place of the old text, or the reason that there is none."""
        words = "\n".join(self.old).split()
        found = list(re.finditer(r"\s+".join(map(re.escape, words)), text))
        if len(found) != 1:
            return None, f"{self.file} has its text {len(found)} times"
        return found[0].span(), None

    def mutated(self, text):
        (begin, end), _ = self.place(text)
        return text[:begin] + "\n".join(self.new) + text[end:]

    def stale(self):
        if not self.file or not os.path.exists(self.file):
            return f"there is no {self.file}"
        return self.place(read(self.file))[1] or next(
            (f"there is no test {t}" for t in self.tests if not find_test(t)), None)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def read_mutants(wanted):
    mutants = []
    for path in sorted(glob.glob("tests/mutants/*.mutants")):
        current = None
        for number, line in enumerate(read(path).splitlines(), 1):
            if not line.strip():
                current = None
            elif line.startswith("#"):
                continue
            elif current is None:
                current = Mutant(line, f"{path}:{number}")
                mutants.append(current)
            else:
                current.add(line)
    names = [m.name for m in mutants]
    for name in {n for n in names if names.count(n) > 1}:
        sys.exit(f"fatal: there are several mutants {name}")
    return [m for m in mutants if not wanted or m.name in wanted or m.area in wanted]


def find_test(test):
    """The source of a test: tests/real/test_data.c of test_data, tests/cli/cli_json.sh of cli_json.sh."""
    name = test.split("@")[0]
    found = glob.glob(f"tests/*/{name}" if name.endswith(".sh") else f"tests/*/{name}.c*")
    return found[0] if found else None


def target(test):
    source = find_test(test)
    return "build/shardlab" if source.endswith(".sh") else "build/" + re.sub(r"\.cp*$", "", source)


def build(tests):
    # Only the variables of an outer make hold: its job server is not handed on.
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    environment["MAKEFLAGS"] = " --" + os.environ.get("MAKEFLAGS", "").partition(" --")[2].partition("-- ")[2]
    done = subprocess.run(["make", "--no-print-directory", *sorted({target(t) for t in tests})], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return None if done.returncode == 0 else done.stdout[-2000:]


def fails(test):
    """Does the test fail, and is it run at all?"""
    source = find_test(test)
    environment = {k: v for k, v in os.environ.items() if k not in ("ONLY", "MAKEFLAGS", "MAKELEVEL")}
    environment |= {"SHARDLAB": os.path.abspath("build/shardlab"), "TEST_TIMEOUT": "300",
                    "MPI_RANKS": test.partition("@")[2] or "2"}
    done = subprocess.run(["tools/run-tests.sh", source if source.endswith(".sh") else target(test)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=environment)
    return done.returncode != 0, done.stdout


def tells_nothing(test):
    failed, output = fails(test)
    if not failed and not re.search(r"\b[1-9]\d* skipped", output):
        return False
    print(f"{test} fails, or is skipped, without any bug:\n{output[-1000:]}", flush=True)
    return True


def copy_tree():
    """Sources as git knows them, and what is built of them, so that little is built again."""
    shutil.rmtree(COPY, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], stdout=subprocess.PIPE, text=True,
                            check=True).stdout.splitlines()
    for path in filter(os.path.exists, listed):
        os.makedirs(os.path.dirname(f"{COPY}/{path}"), exist_ok=True)
        shutil.copy2(path, f"{COPY}/{path}")
    for name in os.listdir("build"):
        here, there = f"build/{name}", f"{COPY}/build/{name}"
        if os.path.isdir(here) and here != COPY and not glob.glob(f"{here}/libraries.mk"):
            shutil.copytree(here, there, symlinks=True)
        elif os.path.isfile(here):
            os.makedirs(os.path.dirname(there), exist_ok=True)
            shutil.copy2(here, there)
    os.chdir(COPY)


def try_mutant(m):
    """'caught', 'survived' or what is wrong with it."""
    before = read(m.file)
    write(m.file, m.mutated(before))
    try:
        error = build(m.tests)
        if error:
            return "does not build", error
        for test in m.tests:
            if fails(test)[0]:
                return "caught", test
        return "survived", " ".join(m.tests)
    finally:
        write(m.file, before)


def main():
    os.chdir(TREE)
    mutants = read_mutants([a for a in sys.argv[1:] if a != "--list"])
    stale = [(m, reason) for m in mutants if (reason := m.stale())]
    for m, reason in stale:
        print(f"stale: {m.name} ({m.where}): {reason}")
    if "--list" in sys.argv:
        for m in mutants:
            print(f"{m.name:6} {m.area:10} {m.what}")
        sys.exit(bool(stale))
    mutants = [m for m in mutants if m not in [s for s, _ in stale]]
    copy_tree()
    tests = {t for m in mutants for t in m.tests}
    error = build(tests)
    if error:
        sys.exit(f"fatal: the tree does not build:\n{error}")
    useless = {t for t in sorted(tests) if tells_nothing(t)}
    results = []
    for m in mutants:
        if useless.intersection(m.tests):
            print(f"untried   {m.name:6} {m.area:10} {m.what}", flush=True)
            continue
        result, by = try_mutant(m)
        results.append(result)
        print(f"{result:9} {m.name:6} {m.area:10} {m.what} ({by})", flush=True)
    caught = results.count("caught")
    percent = 100 * caught / max(1, len(results))
    print(f"{caught} of {len(results)} caught: {percent:.0f} %; {len(stale)} stale, "
          f"{len(mutants) - len(results)} untried")
    sys.exit(percent < ENOUGH or bool(stale) or bool(useless))


if __name__ == "__main__":
    main()
