"""A read-only folder of files: plain texts, and the files as resources."""

import fnmatch
import json

from planted import INTEGER, STRING, Refused, Server, serve, text, tool

FILES = {
    "README.md": "# Harbour\n\nTide tables for small boats.\n\nRun `make tides`.\n",
    "config/app.json": '{"port": 8080, "harbours": ["Ålesund", "Bergen"], "debug": false}\n',
    "config/users.csv": "id,name\n1,Åse\n2,Bjørn\n3,Chloë\n",
    "src/main.py": "import tides\n\n\ndef main():\n    tides.show()\n\n\nmain()\n",
    "src/tides.py": "HOURS = 12.42\n\n\ndef show():\n    print(HOURS)\n",
    "notes.txt": "".join(f"line {number}\n" for number in range(1, 31)),
}
MIME_TYPES = {
    "md": "text/markdown",
    "json": "application/json",
    "csv": "text/csv",
    "py": "text/x-python",
    "txt": "text/plain",
}
ROOT = "file:///harbour/"


def mime_type(path):
    return MIME_TYPES[path.rsplit(".", 1)[1]]


class Files(Server):
    name = "files"
    tools = (
        tool(
            "read_file",
            "The text of a file, or some of its lines.",
            {"path": STRING, "first": INTEGER, "last": INTEGER},
            ["path"],
        ),
        tool("list_directory", "What is in a folder, folders first.", {"path": STRING}),
        tool("find_files", "Files whose name matches a pattern such as *.py.", {"pattern": STRING}, ["pattern"]),
        tool("search_text", "Lines that have a text, as PATH:LINE: TEXT.", {"text": STRING, "path": STRING}, ["text"]),
        tool("file_info", "Size, lines and type of a file.", {"path": STRING}, ["path"]),
    )
    resources = tuple({"uri": ROOT + path, "name": path, "mimeType": mime_type(path)} for path in sorted(FILES))

    def content(self, path):
        if path not in FILES:
            raise Refused(f"no such file: {path}")
        return FILES[path]

    def call_read_file(self, path, first=1, last=None):
        lines = self.content(path).splitlines(keepends=True)
        if first < 1 or first > len(lines):
            raise Refused(f"{path} has {len(lines)} lines, and no line {first}")
        return text("".join(self.cut(lines, first, last)))

    def cut(self, lines, first, last):
        return lines[first - 1 : last]

    def call_list_directory(self, path=""):
        inside = [
            name.removeprefix(f"{path}/" if path else "")
            for name in FILES
            if name.startswith(f"{path}/" if path else "")
        ]
        if not inside:
            raise Refused(f"no such folder: {path}")
        folders = sorted({name.split("/")[0] for name in inside if "/" in name})
        files = sorted(name for name in inside if "/" not in name)
        return text("\n".join(self.entries(folders, files)))

    def entries(self, folders, files):
        return [f"[dir] {name}" for name in folders] + [f"[file] {name}" for name in files]

    def call_find_files(self, pattern):
        found = sorted(path for path in FILES if fnmatch.fnmatchcase(path.split("/")[-1], pattern))
        return text("\n".join(found) or "no files found")

    def call_search_text(self, text, path=""):
        found = [hit for name in self.searched(path) for hit in self.hits(name, text)]
        return {"content": [{"type": "text", "text": "\n".join([*found, self.count(found)])}]}

    def searched(self, path):
        return [name for name in sorted(FILES) if name.startswith(path)]

    def hits(self, name, wanted):
        lines = FILES[name].splitlines()
        return [f"{name}:{number}: {line}" for number, line in enumerate(lines, 1) if wanted in line]

    def count(self, found):
        return f"{len(found)} matches" if len(found) != 1 else "1 match"

    def call_file_info(self, path):
        content = self.content(path)
        size, lines = self.size(content), len(content.splitlines())
        return text(f"path: {path}\nsize: {size} bytes\nlines: {lines}\ntype: {mime_type(path)}")

    def size(self, content):
        return len(content.encode())

    def read(self, uri):
        path = uri.removeprefix(ROOT)
        if path not in FILES:
            return super().read(uri)
        return {"uri": uri, "mimeType": mime_type(path), "text": FILES[path]}


class LastLineLeftOut(Files):
    """A range of lines was meant to have its end in it, and was cut like a slice."""

    def cut(self, lines, first, last):
        return lines[first - 1 : last and last - 1]


class SizeInCharacters(Files):
    """The size was the length of the decoded text, and too small wherever a letter has an accent."""

    def size(self, content):
        return len(content)


class TextCutSilently(Files):
    """Long files were cut to spare tokens, and nothing said so."""

    def content(self, path):
        return super().content(path)[:100]


class LettersBroken(Files):
    """Files were read with the encoding of the system, not as UTF-8."""

    def content(self, path):
        return super().content(path).encode().decode("cp1252", errors="replace")


class ErrorWithoutFlag(Files):
    """Failures were caught and returned as ordinary text, so that agents took them for the file."""

    def refusal(self, words):
        return text(words)


class EverythingIsPlainText(Files):
    """A change of the SDK lost the types of resources when they are read."""

    def read(self, uri):
        return {**super().read(uri), "mimeType": "text/plain"}


class FolderIgnored(Files):
    """The path was not passed on to the search, which looked everywhere."""

    def searched(self, path):
        return super().searched("")


class ListingAsJson(Files):
    """A new version answered with JSON where clients read lines."""

    def entries(self, folders, files):
        return [json.dumps({"folders": folders, "files": files})]


if __name__ == "__main__":
    serve(Files)
