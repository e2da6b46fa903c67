"""Programs on a pseudo-terminal."""
import errno
import os
import pty
import re
import select
import time


def run_in_terminal(command, environment=None, cwd=None, streams=(0, 1, 2), limit=60):
    """Runs `command` with a terminal as the file descriptors `streams`, the others to /dev/null; returns its exit
    status and what the terminal showed."""
    controller, terminal = pty.openpty()
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(terminal if stream in streams else null, stream)
        if cwd:
            os.chdir(cwd)
        os.execvpe(command[0], [str(part) for part in command], {**os.environ, **(environment or {})})
    os.close(terminal)
    shown = read_until(controller, lambda text: False, limit)
    os.close(controller)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown


def read_until(controller, enough, limit):
    """What a terminal shows until enough(text), its end, or `limit` seconds."""
    text, end = "", time.monotonic() + limit
    while not enough(text) and time.monotonic() < end:
        if not select.select([controller], [], [], 0.2)[0]:
            continue
        try:
            piece = os.read(controller, 65536)
        except OSError as error:
            if error.errno != errno.EIO:  # how Linux tells the end of a terminal
                raise
            break
        if not piece:
            break
        text += piece.decode(errors="replace")
    return text


class Shell:
    """An interactive shell in a terminal; for `with`."""

    def __init__(self, command, environment, cwd):
        self.pid, self.controller = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(command[0], command, environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.controller)  # hangs up
        os.waitpid(self.pid, 0)

    def type(self, keys, until, limit=60):
        """Types `keys` and returns what appears, up to `until`."""
        os.write(self.controller, keys.encode())
        plain = lambda text: re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x07", "", text)  # without colours, movements, bells
        shown = plain(read_until(self.controller, lambda text: until in plain(text), limit))
        if until not in shown:
            raise AssertionError(f"typed {keys!r}: no {until!r} in {shown!r}")
        return shown
