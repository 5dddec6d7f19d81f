# SPDX-License-Identifier: MIT
"""python_scene.py - what tests of agent/python share: where it is, and a configuration of their own"""
import atexit
import os
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("STEPJAIL_BUILD", "build"))
FOLDER = os.path.join(TOP, "agent/python")
MCP = os.path.join(BUILD, "stepjail-mcp")
sys.path.insert(0, FOLDER)
sys.dont_write_bytecode = True
os.environ["STEPJAIL"] = os.path.join(BUILD, "stepjail")

# defaults for the jails, as a user on this host has them
config = tempfile.TemporaryDirectory(prefix="stepjail-test-")
atexit.register(config.cleanup)
os.mkdir(os.path.join(config.name, "stepjail"))
with open(os.path.join(config.name, "stepjail/defaults"), "w") as file:
    file.write("quiet yes\n")
    if "--allow-missing=cgroup" in os.environ.get("STEPJAIL_RUN", "").split():
        file.write("allow-missing cgroup\n")
os.environ["XDG_CONFIG_HOME"] = config.name
os.environ["XDG_STATE_HOME"] = os.path.join(config.name, "state")
