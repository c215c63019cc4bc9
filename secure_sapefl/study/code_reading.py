"""What stands in carried code, for a person who is about to read it: what it imports, and where it reaches further than
a model needs to. It is found by the words of the source; clever code hides better, so nothing found proves nothing.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

USUAL: Final = frozenset({"torch", "math", "typing", "collections", "dataclasses", "functools", "itertools", "numpy"})
"""What models are made of; another import is worth a look."""

_TOPICS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "files": "open io os pathlib Path shutil tempfile glob fileinput mmap save load loadtxt savetxt fromfile "
        "tofile memmap from_file sqlite3 read_csv safetensors",
        "network": "socket socketserver ssl http urllib requests httpx aiohttp asyncio ftplib smtplib xmlrpc hub "
        "load_state_dict_from_url distributed rpc",
        "processes": "subprocess multiprocessing threading signal fork forkpty system popen execv execve spawn kill "
        "ctypes cffi ptrace concurrent pty cpp_extension load_inline",
        "eval": "eval exec compile __import__ importlib import_module builtins __builtins__ globals locals vars "
        "getattr setattr __subclasses__ __globals__ __dict__ __class__ __code__ pickle marshal dill inspect gc sys "
        "types codecs base64 runpy",
    }
)


@dataclass(frozen=True, slots=True)
class Flag:
    """A word of the source that may reach further than a model needs to."""

    topic: str
    line: int
    word: str


def imports(source: str) -> tuple[str, ...]:
    """Every module it names in an import, wherever that stands."""
    found = set[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
    return tuple(sorted(found))


def unusual(source: str) -> tuple[str, ...]:
    return tuple(name for name in imports(source) if name.partition(".")[0] not in USUAL)


def flags(source: str) -> tuple[Flag, ...]:
    """In the order of the lines; a word counts once a line."""
    words = {(line, word) for node in ast.walk(ast.parse(source)) for line, word in _words(node)}
    known = {topic: set(listed.split()) for topic, listed in _TOPICS.items()}
    found = {Flag(topic, line, word) for line, word in words for topic in known if word in known[topic]}
    return tuple(sorted(found, key=lambda flag: (flag.line, flag.topic, flag.word)))


def _words(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Names, attributes and imports; in strings too, where an attribute is looked up by one."""
    match node:
        case ast.Name(id=word, lineno=line) | ast.Attribute(attr=word, lineno=line):
            yield line, word
        case ast.Constant(value=str() as word, lineno=line):
            yield line, word
        case ast.Import(names=names, lineno=line):
            yield from ((line, part) for alias in names for part in alias.name.split("."))
        case ast.ImportFrom(names=names, lineno=line, module=module):
            yield from ((line, part) for part in (module or "").split("."))
            yield from ((line, alias.name) for alias in names)
        case _:
            return


def in_words(source: str) -> str:
    """For a table: `files (line 3: open), eval (line 7: getattr)`, or that nothing was found."""
    by_topic = {topic: [flag for flag in flags(source) if flag.topic == topic] for topic in _TOPICS}
    parts = [
        f"{topic} ({', '.join(f'line {flag.line}: {flag.word}' for flag in found)})"
        for topic, found in by_topic.items()
        if found
    ]
    return ", ".join(parts) or "none of files, network, processes, eval, which proves nothing"


def numbered(source: str) -> str:
    """The source as it is shown, a number before each line."""
    return "\n".join(f"{number:4d}  {line}" for number, line in enumerate(source.splitlines(), 1))
