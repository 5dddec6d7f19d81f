#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""egress_demo.py - `make demo-egress`: the agent answers a question with data of an HTTP API

The API is served here, on loopback, out of tests/data/seattle-weather.csv: one JSON list of days
for each year. Its address is the one that --allow-host names. The words behind the options of this
program are the agent's.

usage: tests/egress_demo.py AGENT [option...]
"""
import csv
import http.server
import json
import os
import subprocess
import sys
import threading
import urllib.parse

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def days():
    """{year: [day]}"""
    found = {}
    with open(os.path.join(DATA, "seattle-weather.csv"), newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["date"][:4], []).append(
                {"date": row["date"], "rain_mm": float(row["precipitation"]), "sky": row["weather"]})
    return found


class Api(http.server.BaseHTTPRequestHandler):
    """GET /days?year=YEAR"""
    years = days()

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        year = dict(urllib.parse.parse_qsl(url.query)).get("year")
        found = self.years.get(year) if url.path == "/days" else None
        body = json.dumps(found or {"error": "ask for /days?year=2012, up to 2015"}).encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = f"127.0.0.1:{server.server_port}"
    with open(os.path.join(DATA, "weather.turns"), encoding="utf-8") as file:
        turns = file.read().replace("PLACE", place)
    inside = os.memfd_create("turns", 0)
    os.write(inside, turns.encode())
    return subprocess.run([sys.argv[1], "solve",
                           f"Which of the years 2012 to 2015 had the most days of rain in Seattle? http://{place}"
                           "/days?year=2012 has the days of a year, in JSON.",
                           "--allow-host", place, "--model", f"scripted:/dev/fd/{inside}", *sys.argv[2:]],
                          pass_fds=(inside,), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
