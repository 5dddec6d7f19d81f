# SPDX-License-Identifier: MIT
"""table.py - the threat table of jail/README.md, out of the corpus and what is recorded in walls.json

| attack | probe | walls | seen |: the third column is what was seen, and nothing else. A set
of walls is written with "and": each of them holds alone, and the attack opens only when all
are taken out. "or" stands between sets: each of them is needed. seen.inc carries the same
into stepjail-escape.
"""
import os
import re
import subprocess

import corpus

README = os.path.join(corpus.TOP, "jail/README.md")
FRONT = os.path.join(corpus.TOP, "README.md")
SEEN = os.path.join(corpus.HERE, "seen.inc")
BEGIN, END = "<!-- walls: make walls -->", "<!-- walls end -->"


def attacks():
    """[(name, area, attack)], as stepjail escape --list prints them"""
    listed = subprocess.run([corpus.ESCAPE, "--list"], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    return [tuple(part.strip() for part in re.match(r"(.{26}) (.{26}) (.*)", line).groups())
            for line in listed.splitlines()]


def words_of(sets, texts):
    return "; or ".join(" and ".join(texts.get(word, word) for word in one) for one in sets)


def walls_of(row, entry, texts):
    """The walls that were seen to be needed, in words; else those that its row names"""
    by_user = {user: words_of(entry[user]["sets"], texts) for user in entry}
    known = {text for text in by_user.values() if text}
    if len(known) == 1:
        return known.pop()
    if known:
        return "; ".join(f"as {user}: {text}" for user, text in by_user.items() if text)
    return ", ".join(text for _, text in row)


def evidence_of(entry):
    sets = [user for user in entry if entry[user]["sets"]]
    outside = [user for user in entry if entry[user]["outside"] == "open"]
    if sets:
        return f"opens without, as {' and '.join(sets)}"
    if outside:
        return f"opens outside, as {' and '.join(outside)}"
    if any(entry[user]["outside"] == "held" for user in entry):
        return "its precondition is there outside"
    return "not seen: the host lacks it"


def lines():
    rows, texts = corpus.walls_of_rows()
    record = corpus.read_record()
    made = ["| attack | probe | walls | seen |", "|---|---|---|---|"]
    for name, _, attack in attacks():
        entry = record[name]
        made.append(f"| {attack} | `{name}` | {walls_of(rows[name], entry, texts)} | "
                    f"{evidence_of(entry)} |")
    return made


def seen_lines():
    """seen.inc: for each probe with a set, all walls of all its sets"""
    for name, entry in corpus.read_record().items():
        words = sorted({word for user in entry.values() for one in user["sets"]
                        for word in one})
        if words:
            yield f'{{ "{name}", "{",".join(words)}" }},\n'


def parts():
    """jail/README.md before, between and after the markers"""
    with open(README, encoding="utf-8") as readme:
        text = readme.read()
    before, rest = text.split(BEGIN + "\n", 1)
    between, after = rest.split(END, 1)
    return before, between, after


def expected():
    return "\n" + "\n".join(lines()) + "\n\n"


def write():
    before, _, after = parts()
    with open(SEEN, "w", encoding="ascii") as out:
        out.write("".join(seen_lines()))
    with open(README, "w", encoding="utf-8") as readme:
        readme.write(before + BEGIN + "\n" + expected() + END + after)
    return 0


def problems():
    """What is wrong with the table and with what the rows declare"""
    found = []
    rows, _ = corpus.walls_of_rows()
    record = corpus.read_record()
    if set(record) != set(rows):
        found.append("walls.json is not of this corpus: make walls: "
                     + " ".join(sorted(set(record) ^ set(rows))))
        return found
    if parts()[1] != expected():
        found.append("jail/README.md: the table is not what the corpus makes: "
                     "tests/escape/walls --table")
    with open(FRONT, encoding="utf-8") as front:
        told = f"# {len(rows)} attacks;" in front.read()
    if not told:
        found.append(f"README.md does not say that there are {len(rows)} attacks")
    with open(SEEN, encoding="ascii") as out:
        if out.read() != "".join(seen_lines()):
            found.append("seen.inc is not what walls.json says: tests/escape/walls --table")
    for name in rows:
        if not any(user["outside"] == "open" for user in record[name].values()) and \
                any(user["outside"] == "held" for user in record[name].values()) and \
                name != "bench-dirty-pipe":
            found.append(f"{name}: never seen to succeed outside: it cannot fail")
    return found
