"""Reads the parts of one long file in several processes, for files of which that saves a second.

Forked on Linux only: the children share what was prepared (and the seed of Python's hashes), cost no start of an
interpreter, and nothing but `os` is needed. Elsewhere, and where threads run, the file is read in this process.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PARTS_FROM = 48 << 20
"""Bytes of a file from which on it is read in parts."""
_MOST_PROCESSES = 8
_HEAD = 8


def processes() -> int:
    """How many processes may read at once; 1 where forking is not safe."""
    if sys.platform != "linux":
        return 1
    threading = sys.modules.get("threading")
    if threading is not None and threading.active_count() > 1:
        return 1
    return max(1, min(_MOST_PROCESSES, len(os.sched_getaffinity(0))))


def in_parts(
    number: int, work: Callable[[int, Callable[[object], None]], None], take: Callable[[object], None]
) -> bool:
    """Calls `work(index, send)` in a process for each index; what they send arrives at `take`, in any order.

    What is sent must be plain values (None, numbers, texts, bytes, tuples, lists, dicts). False where a process failed.
    """
    import marshal
    from select import select

    children: dict[int, int] = {}  # pipe -> process
    waiting: dict[int, bytearray] = {}
    good = True
    try:
        for index in range(number):
            reader, writer = os.pipe()
            child = os.fork()
            if not child:
                _child(index, writer, work, (reader, *children))
            os.close(writer)
            children[reader] = child
            waiting[reader] = bytearray()
        while waiting:
            for pipe in select(list(waiting), [], [])[0]:
                data = os.read(pipe, 1 << 16)
                held = waiting[pipe]
                held += data
                while len(held) >= _HEAD and len(held) >= _HEAD + int.from_bytes(held[:_HEAD], "little"):
                    end = _HEAD + int.from_bytes(held[:_HEAD], "little")
                    take(marshal.loads(held[_HEAD:end]))  # noqa: S302 # of our own child
                    del held[:end]
                if not data:
                    good = good and not held
                    del waiting[pipe]
    except BaseException:
        import signal

        for child in children.values():
            os.kill(child, signal.SIGTERM)
        raise
    finally:
        for pipe, child in children.items():
            os.close(pipe)
            good = os.waitpid(child, 0)[1] == 0 and good
    return good


def _child(
    index: int, pipe: int, work: Callable[[int, Callable[[object], None]], None], others: tuple[int, ...]
) -> None:
    """The life of a child process; does not return."""
    import gc
    import marshal

    gc.freeze()  # looking through what the parent made would copy the memory of it

    def send(value: object) -> None:
        data = marshal.dumps(value)  # type: ignore[arg-type] # plain values
        left = memoryview(len(data).to_bytes(_HEAD, "little") + data)
        while left:
            left = left[os.write(pipe, left) :]

    status = 1
    try:
        for other in others:
            os.close(other)
        work(index, send)
        status = 0
    except BaseException:  # noqa: S110 # the parent reads the file itself then
        pass
    finally:
        os._exit(status)
