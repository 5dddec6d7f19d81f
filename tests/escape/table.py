# SPDX-License-Identifier: MIT
"""table.py - README's threat table, out of the corpus and what is recorded in walls.json

| attack | walls | probe | opens without |: the last column is what was seen, and nothing
else. A set of walls is written with "and": each of them holds alone, and the attack opens
only when all are taken out. "or" stands between sets: each of them is needed.
"""
import os
import re
import subprocess

import corpus

README = os.path.join(corpus.TOP, "README.md")
BEGIN, END = "<!-- walls: make walls -->", "<!-- walls end -->"


def attacks():
    """[(name, area, attack)], as stepjail escape --list prints them"""
    listed = subprocess.run([corpus.ESCAPE, "--list"], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    return [tuple(part.strip() for part in re.match(r"(.{26}) (.{24}) (.*)", line).groups())
            for line in listed.splitlines()]


def seen(entry, texts):
    """What the generator saw, in words"""
    def words(sets):
        return " or ".join(" and ".join(texts.get(word, word) for word in one)
                           for one in sets)

    by_user = {user: words(entry[user]["sets"]) for user in entry}
    parts = []
    if len(set(by_user.values())) == 1:
        parts = [text for text in list(by_user.values())[:1] if text]
    else:
        parts = [f"as {user}: {text}" for user, text in by_user.items() if text]
    if parts:
        return "; ".join(parts)
    results = {entry[user]["outside"] for user in entry}
    if "open" in results:
        return "a jail (seen to open outside)"
    return "precondition seen outside" if "held" in results else "not seen: this host lacks it"


def lines():
    rows, texts = corpus.walls_of_rows()
    record = corpus.read_record()
    made = ["| attack | probe | walls that hold it | seen to open without |",
            "|---|---|---|---|"]
    for name, _, attack in attacks():
        held = ", ".join(text for _, text in rows[name])
        made.append(f"| {attack} | `{name}` | {held} | {seen(record[name], texts)} |")
    return made


def parts():
    """README before, between and after the markers"""
    with open(README, encoding="utf-8") as readme:
        text = readme.read()
    before, rest = text.split(BEGIN + "\n", 1)
    between, after = rest.split(END, 1)
    return before, between, after


def expected():
    return "\n" + "\n".join(lines()) + "\n\n"


def write():
    before, _, after = parts()
    with open(README, "w", encoding="utf-8") as readme:
        readme.write(before + BEGIN + "\n" + expected() + END + after)
    return 0


def problems():
    """What is wrong with README's table and with what the rows declare"""
    found = []
    rows, texts = corpus.walls_of_rows()
    record = corpus.read_record()
    if set(record) != set(rows):
        found.append("walls.json is not of this corpus: make walls: "
                     + " ".join(sorted(set(record) ^ set(rows))))
        return found
    if parts()[1] != expected():
        found.append("README.md: the table is not what the corpus makes: "
                     "tests/escape/walls --table")
    for name, declared in rows.items():
        words = {word for word, _ in declared if word}
        needed = {word for user in record[name].values() for one in user["sets"]
                  for word in one}
        if needed and needed != words:
            found.append(f"{name}: declares {sorted(words)} and was seen to need "
                         f"{sorted(needed)}")
        if not any(user["outside"] == "open" for user in record[name].values()) and \
                any(user["outside"] == "held" for user in record[name].values()) and \
                name != "bench-dirty-pipe":
            found.append(f"{name}: never seen to succeed outside: it cannot fail")
    return found
