"""An installed tlmc, and the commands and files of a page of docs: what a user has and types."""
import atexit
import re

from lib import *

BUILD = os.environ["TLMC_BUILD"]
made = []


def installed():
    """The prefix of this process: one installation, moved after it was made."""
    if not made:
        base = tempfile.mkdtemp(prefix="tlmc-prefix-")
        atexit.register(shutil.rmtree, base, ignore_errors=True)
        run(["cmake", "--install", BUILD, "--prefix", base + "/first"]).ok()
        os.rename(base + "/first", base + "/.local")
        made.append(base + "/.local")
    return made[0]


def pc_folder():
    found = [root for root, _, files in os.walk(installed()) if "tlm.pc" in files]
    check(found, "no tlm.pc is installed")
    return found[0]


def environment():
    """What the README's Install says to set."""
    return {"PATH": installed() + "/bin:" + os.environ["PATH"], "PKG_CONFIG_PATH": pc_folder(), "CMAKE_PREFIX_PATH": installed()}


def section(page, title):
    """A section of a page: up to the next heading of its level."""
    text = open(os.path.join(SOURCE, page)).read()
    begin = text.index(f"\n## {title}\n")
    end = text.find("\n## ", begin + 1)
    return text[begin:end if end >= 0 else len(text)]


def fenced(text, language):
    """The blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.S | re.M)


def indented(text):
    """The indented blocks, without their indent."""
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.M)
    return ["\n".join(line[4:] for line in b.strip("\n").split("\n")) + "\n" for b in blocks]


def shell(commands, folder):
    """As typed, in a shell that stops at the first failure."""
    return run(["sh", "-e", "-c", commands], cwd=folder, env=environment()).ok().out


def need_tools():
    for tool in ("cmake", "ninja", "pkg-config"):
        if not has(tool):
            skip(f"{tool} is not installed")
