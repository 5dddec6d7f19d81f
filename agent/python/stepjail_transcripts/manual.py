# SPDX-License-Identifier: MIT
"""manual.py - manual pages of stepjail-agent and of programs beside it: help texts in man(7) macros"""
import re
import subprocess

from . import Problem

HEAD = ".TH STEPJAIL\\-AGENT 1\n.SH NAME\nstepjail\\-agent \\- let a model solve a task with Python in a jail\n"
SEE = ".SH SEE ALSO\n.BR stepjail (1),\n.BR stepjail\\-batch (1),\n.BR stepjail\\-transcripts (1)\n"
SECTIONS = {
    "EXIT STATUS": r"""
Each COMMAND section above ends with the exit statuses of that command.
""",
    "EXAMPLES": r"""
Ask a model on a server about a file:
  export ANTHROPIC_API_KEY=...
  stepjail-agent solve 'Which month had the most rain?' \
      --file weather.csv --model anthropic --model-name NAME

The same with pandas, and with pictures copied to the folder results:
  stepjail-agent solve 'Plot the rain of each month.' --rootfs data \
      --file weather.csv --out results --model anthropic --model-name NAME

Let cases decide whether the answer is right, with a model on this host:
  stepjail-agent solve 'Write roman.py.' --tests roman.jsonl \
      --model ollama --model-name NAME

Work at a prompt; run a script, each statement a step:
  stepjail-agent repl
  stepjail-agent repl < script.py

Talk with a model; go on with the last run:
  stepjail-agent chat --model ollama/NAME --file weather.csv
  stepjail-agent solve --continue "And in June?" --model ollama/NAME

See what ran, and run it again:
  stepjail-agent transcripts list
  stepjail-agent transcripts show NAME
  stepjail-agent replay NAME
""",
    "FILES": r"""
$XDG_STATE_HOME/stepjail/transcripts, ~/.local/state/stepjail/transcripts
  Transcripts of solve, chat and repl, where --transcript names no other file.
  FILE.shown beside a transcript FILE holds what its steps have shown.
$XDG_STATE_HOME/stepjail/history, ~/.local/state/stepjail/history
  Lines that were typed in repl.
/etc/stepjail/defaults, ~/.config/stepjail/defaults
  Options for all jails, those of the agent included: see stepjail(1).
""",
    "ENVIRONMENT": r"""
STEPJAIL_API_KEY, OPENAI_API_KEY, ANTHROPIC_API_KEY
  The API key: the first for any server, the others for openai and anthropic.
https_proxy, http_proxy, all_proxy, no_proxy
  Proxies on the way to the model's server, as for curl(1).
XDG_STATE_HOME, HOME
  Where transcripts and the history of lines are.
TMPDIR
  Where the bytes of a --file that is a pipe are kept, in a file without a name.
NO_COLOR, TERM
  There is no colour where NO_COLOR is set, or TERM is dumb.
No variable is passed on to a jail.
""",
}


def roff(text):
    return re.sub("(?m)^([.'])", r"\&\1", text.replace("\\", r"\e").replace("-", r"\-"))


def section(title, text):
    return f".SH {title}\n.nf\n.in 0\n{roff(text)}.fi\n"


def manual(agent):
    """Out of what the program itself says."""
    def said(*words):
        done = subprocess.run([agent, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Problem(f"{agent} {' '.join(words)}: it ended with status {done.returncode}")
        return done.stdout
    usage = said("--help").partition("Usage:\n")[2]
    names = re.findall(r"^  stepjail-agent ([a-z]+) .*\n {6}", usage, re.M)
    page = HEAD + section("SYNOPSIS", re.sub(r"(?s)  stepjail-agent COMMAND.*", "", usage) +
                          "  An option with [=no|yes] means yes where no value is given.\n")
    for name in names:
        text = said(name, "--help", "all").split("\n", 2)[2]
        page += section(f"COMMAND {name}", re.sub(r"\nHelp:\n(?:  .*\n)+", "", text))
    return page + "".join(section(title, text[1:]) for title, text in SECTIONS.items()) + SEE


def help_page(name, summary, text, *beside):
    """A program's page: the words of its --help, line by line, and pages of section 1 to see also."""
    usage, _, text = text.replace("\\", r"\e").replace("-", r"\-").partition("\n\n")
    usage = usage.replace("\n", "\n.br\n")
    text = re.sub(r"(?m)^([A-Z][\w ]+):$", lambda found: ".fi\n.SH " + found[1].upper() + "\n.nf", text)
    also = ",\n".join(f".BR {one} (1)" for one in beside).replace("-", r"\-")
    return (f".TH {name.upper()} 1\n.SH NAME\n" + f"{name} - {summary}".replace("-", r"\-") + f"\n.SH SYNOPSIS\n{usage}\n.SH DESCRIPTION\n.nf\n{text}.fi\n.SH SEE ALSO\n{also}\n")
