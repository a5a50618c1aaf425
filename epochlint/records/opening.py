"""Opens a data file without ever waiting or trusting it: regular files only, unpacked as they are read."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO, Protocol

    class Reader(Protocol):
        """What is read from: a file or an unpacking wrapper around one."""

        def read(self, size: int, /) -> bytes: ...


BLOCK = 1 << 17
"""Bytes read at once."""

BIGGEST_RECORD = 16 << 20
"""Characters of one record that are held in memory; a longer one makes the file unknown."""

# `datasets` recognises packed files by these first bytes, whatever the name says
# (datasets 5.2.0, utils/extract.py); zip and lz4 archives are unknown here.
_GZIP = b"\x1f\x8b"
_BZIP2 = b"BZh"
_XZ = b"\xfd7zXZ\x00"
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
PACKED_ENDINGS = (".gz", ".bz2", ".xz", ".zst")


watch: Callable[[str, int, int], None] | None = None
"""Is told of each reading: the file, how far it has been read, how long it is (in bytes on the disk)."""


class Unreadable(Exception):  # noqa: N818 - a state of the file, caught inside this room
    """The file cannot be read to its end: gone, no permission, cut, or packed in a way that is unknown here.

    `broken`: no reader of its format can.
    """

    def __init__(self, reason: str, *, broken: bool = False) -> None:
        super().__init__(reason)
        self.broken = broken


class DataFile:
    """An open data file.

    `size` is its length in bytes on the disk; `packed` says that what is read is longer than that, `quick` that it is
    unpacked many times quicker than its records are read.
    """

    __slots__ = ("_raw", "_reader", "_unpack_errors", "packed", "path", "quick", "size")

    def __init__(self, path: str) -> None:
        """Raises Unreadable where the path is no regular file that may be read."""
        self.path = path
        self._raw, self.size = _open_regular(path)
        self._reader: Reader = self._raw
        self._unpack_errors: tuple[type[BaseException], ...] = (OSError,)
        self.packed = self.quick = False
        try:
            self._unpack(self._raw.peek(6)[:6] if hasattr(self._raw, "peek") else b"")
        except OSError as error:
            self.close()
            raise Unreadable(str(error)) from None
        except BaseException:
            self.close()
            raise

    def _unpack(self, first: bytes) -> None:
        if first.startswith(_GZIP):
            import gzip
            import zlib

            self._reader, self._unpack_errors = gzip.GzipFile(fileobj=self._raw), (OSError, EOFError, zlib.error)
            self.quick = True
        elif first.startswith(_BZIP2):
            import bz2

            self._reader, self._unpack_errors = bz2.BZ2File(self._raw), (OSError, EOFError, ValueError)
        elif first.startswith(_XZ):
            import lzma

            self._reader, self._unpack_errors = lzma.LZMAFile(self._raw), (OSError, EOFError, lzma.LZMAError)  # noqa: SIM115
        elif first.startswith(_ZSTANDARD):
            self._reader, self._unpack_errors = _zstandard(self._raw)
            self.quick = True
        else:
            return
        self.packed = True

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size` (unpacked); empty at the end. Raises Unreadable."""
        if watch is not None:
            watch(self.path, self.place(), self.size)
        try:
            return self._reader.read(size)
        except (MemoryError, RecursionError):
            raise
        except self._unpack_errors as error:
            raise Unreadable(str(error), broken=self.packed) from None

    def read_at(self, offset: int, size: int) -> bytes:
        """Bytes of the file as it lies on the disk. Raises Unreadable where they are not all there."""
        try:
            self._raw.seek(offset)
            data = self._raw.read(size)
        except (OSError, ValueError, OverflowError) as error:
            raise Unreadable(str(error)) from None
        if len(data) < size:
            raise Unreadable("the file ends early")
        return data

    def seek(self, offset: int) -> None:
        """Goes on reading there; for files that are not packed. Raises Unreadable."""
        try:
            self._raw.seek(offset)
        except (OSError, ValueError) as error:
            raise Unreadable(str(error)) from None

    def place(self) -> int:
        """How far the file on the disk has been read, in bytes."""
        return self._raw.tell()

    def close(self) -> None:
        """Gives the file back."""
        self._raw.close()

    def __enter__(self) -> DataFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Part:
    """What is read of an open file from one place to another."""

    __slots__ = ("_file", "_left")

    def __init__(self, file: DataFile, start: int, end: int) -> None:
        """Raises Unreadable. A packed file must have been read up to there."""
        if not file.packed:
            file.seek(start)
        self._file = file
        self._left = end - start

    def read(self, size: int, /) -> bytes:
        """The next bytes, at most `size`; empty at the end of the part. Raises Unreadable."""
        data = self._file.read(min(size, self._left))
        self._left -= len(data)
        return data


def is_regular(path: str) -> bool:
    """Whether there is a regular file (or a link to one): not a folder, a pipe or a device, which could block."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _open_regular(path: str) -> tuple[BinaryIO, int]:
    if not is_regular(path):
        raise Unreadable("not a regular file")
    try:
        # O_NONBLOCK: a pipe that took the file's place since cannot hold us up
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        raise Unreadable(str(error)) from None
    try:
        state = os.fstat(number)
        if not stat.S_ISREG(state.st_mode):
            raise Unreadable("not a regular file")
        return os.fdopen(number, "rb"), state.st_size
    except BaseException:
        os.close(number)
        raise


def _zstandard(raw: BinaryIO) -> tuple[Reader, tuple[type[BaseException], ...]]:
    """The standard library's own from Python 3.14, else the package `zstandard` where it happens to be installed."""
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]

        return zstd.ZstdFile(raw), (OSError, EOFError, zstd.ZstdError)
    except ImportError:
        pass
    try:
        import zstandard  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise Unreadable("zstandard is not installed") from None
    decompressor = zstandard.ZstdDecompressor()
    return decompressor.stream_reader(raw, read_across_frames=True), (OSError, EOFError, zstandard.ZstdError)
