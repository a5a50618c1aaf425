"""The structure of a shell script: statements, words and redirections, each as offsets in the text.

A hand-written parser for what bash's manual calls the shell grammar. It reads each character a fixed number of times,
whatever the text is: an existing grammar for bash took minutes and gigabytes for 100 KB of `a | a | a |`. It
resolves nothing: words are ranges, `expand` makes values of them. It never fails on a text: what cannot be read
becomes a problem, and reading goes on behind it.
"""

from __future__ import annotations

import re

# Nesting deeper than this is no script that a person wrote; each level costs a few frames of Python's stack.
DEEPEST = 40
_LONGEST_SUM = 2_000  # characters of `(( ))`

_BLANK = re.compile(r"(?:[ \t\r]|\\\n)+")
_WORD_STOP = re.compile(r"[ \t\r\n;&|<>()'\"\\$`]")
_IN_DOUBLE = re.compile(r"[\\\"$`]")
_IN_BACKTICK = re.compile(r"[\\`]")
_IN_PAREN = re.compile(r"[\\'\"$`()]|(?<![^\s;&|(])#[^\n]*|(?<!<)<<-?(?!<)[ \t]*(['\"\\]?)([A-Za-z_][A-Za-z0-9_]*)\1?")
_IN_BRACE = re.compile(r"[\\'\"$`}]")
_IN_ANSI = re.compile(r"[\\']")
_IN_TEST = re.compile(r"[\\'\"$`]|(?<=[ \t\n])\]\](?![^\s;&|)])")
_ARITHMETIC = re.compile(r"[()'\"`]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[([^\]\n]*)\])?(\+?)=")
_FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")
_REDIRECTION = re.compile(r"&>>|&>|>>|>\||>&|<<<|<<-|<<|<>|<&|>|<")
# `<model_path>`: what a person should replace stands where a value belongs.
PLACEHOLDER = re.compile(r"<[A-Za-z_][^<>\n\"'$`|;&()]*>(?=[\s\"'/\\;,.]|\Z)")

DECLARERS = frozenset({"export", "declare", "typeset", "local", "readonly"})
_OPENERS = frozenset({"if", "for", "while", "until", "case", "select", "function", "{", "[["})
_CLOSERS = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})


class UnclosedError(Exception):
    """A quote or bracket that is opened at `start` and never closed."""

    def __init__(self, start: int, what: str) -> None:
        super().__init__(what)
        self.start = start
        self.what = what


class TooDeepError(Exception):
    """More nesting than `DEEPEST`."""


class Statement:
    """Any statement: the characters `start` to `end`, without its redirections."""

    __slots__ = ("end", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.end = start


class Assignment:
    """`name=value`, `name[index]+=value`, `name=(a b)`: `value` is a range, `items` the ranges of an array's words."""

    __slots__ = ("append", "end", "index", "items", "name", "start", "value")

    def __init__(
        self,
        name: str,
        index: str | None,
        append: bool,
        start: int,
        end: int,
        value: tuple[int, int],
        items: list[tuple[int, int]] | None,
    ) -> None:
        self.name = name
        self.index = index
        self.append = append
        self.start = start
        self.end = end
        self.value = value
        self.items = items


class Redirection:
    """`operator target`. A here-document's target is its body; `literal` says that nothing is expanded in it."""

    __slots__ = ("literal", "operator", "tabs", "target", "word")

    def __init__(self, operator: str, target: tuple[int, int]) -> None:
        self.operator = operator
        self.target = target
        self.word = ""  # a here-document's delimiter
        self.literal = False
        self.tabs = False


class Simple(Statement):
    """A simple command: assignments before it (or all that a `declare` makes), words, redirections."""

    __slots__ = ("assignments", "redirections", "words")

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.assignments: list[Assignment] = []
        self.words: list[tuple[int, int]] = []
        self.redirections: list[Redirection] = []


class Pipeline(Statement):
    __slots__ = ("negated", "parts")

    def __init__(self, start: int, negated: bool, parts: list[Statement]) -> None:
        super().__init__(start)
        self.negated = negated
        self.parts = parts


class Chain(Statement):
    """`first && second || third`: pairs of the operator before a part and the part."""

    __slots__ = ("parts",)

    def __init__(self, start: int, parts: list[tuple[str, Statement]]) -> None:
        super().__init__(start)
        self.parts = parts


class If(Statement):
    __slots__ = ("branches", "otherwise")

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.branches: list[tuple[list[Statement], list[Statement]]] = []
        self.otherwise: list[Statement] | None = None


class For(Statement):
    """`for name in words`; `words` is None for the positional parameters, `header` the range of `((...))`."""

    __slots__ = ("body", "header", "name", "words")

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.name = ""
        self.words: list[tuple[int, int]] | None = None
        self.header: tuple[int, int] | None = None
        self.body: list[Statement] = []


class While(Statement):
    __slots__ = ("body", "condition", "until")

    def __init__(self, start: int, until: bool) -> None:
        super().__init__(start)
        self.until = until
        self.condition: list[Statement] = []
        self.body: list[Statement] = []


class Case(Statement):
    """`case subject in`: pairs of the patterns' ranges and a body."""

    __slots__ = ("items", "subject")

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.subject = (start, start)
        self.items: list[tuple[list[tuple[int, int]], list[Statement]]] = []


class Function(Statement):
    __slots__ = ("body", "name")

    def __init__(self, start: int, name: str) -> None:
        super().__init__(start)
        self.name = name
        self.body: Statement | None = None


class Group(Statement):
    """`{ ...; }` or `( ... )`."""

    __slots__ = ("body", "redirections", "subshell")

    def __init__(self, start: int, subshell: bool) -> None:
        super().__init__(start)
        self.subshell = subshell
        self.body: list[Statement] = []
        self.redirections: list[Redirection] = []


class Arithmetic(Statement):
    """`(( ... ))`; `inside` is the range between the brackets."""

    __slots__ = ("inside",)

    def __init__(self, start: int, inside: tuple[int, int]) -> None:
        super().__init__(start)
        self.inside = inside


class Test(Statement):
    """`[[ ... ]]`; `inside` is the range between the brackets."""

    __slots__ = ("inside",)

    def __init__(self, start: int, inside: tuple[int, int]) -> None:
        super().__init__(start)
        self.inside = inside


# Passing over quotes and expansions: each function is given the offset behind the opening and returns the offset behind
# the closing.


def pass_single(text: str, at: int, end: int) -> int:
    found = text.find("'", at, end)
    if found < 0:
        raise UnclosedError(at - 1, "a quote")
    return found + 1


def pass_ansi(text: str, at: int, end: int) -> int:
    start = at
    while found := _IN_ANSI.search(text, at, end):
        if found[0] == "'":
            return found.end()
        at = found.end() + 1
    raise UnclosedError(start - 1, "a quote")


def pass_double(text: str, at: int, end: int, depth: int = 0) -> int:
    start = at
    while found := _IN_DOUBLE.search(text, at, end):
        at = found.end()
        if found[0] == '"':
            return at
        if found[0] == "\\":
            at += 1
        elif found[0] == "`":
            at = pass_backtick(text, at, end)
        else:
            at = pass_dollar(text, at, end, depth, double=True)
    raise UnclosedError(start - 1, "a double quote")


def pass_backtick(text: str, at: int, end: int) -> int:
    start = at
    while found := _IN_BACKTICK.search(text, at, end):
        at = found.end()
        if found[0] == "`":
            return at
        at += 1
    raise UnclosedError(start - 1, "a backquote")


def pass_dollar(text: str, at: int, end: int, depth: int, double: bool = False) -> int:
    """Behind what begins with a `$`, which stands before `at`."""
    if depth > DEEPEST:
        raise TooDeepError
    follows = text[at] if at < end else ""
    if follows == "{":
        return pass_brace(text, at + 1, end, depth + 1, double)
    if follows == "(":
        if text.startswith("(", at + 1):
            inside = double_paren(text, at, end)
            if inside is not None:
                return inside[1] + 2
        return pass_paren(text, at + 1, end, depth + 1)
    if follows == "'" and not double:
        return pass_ansi(text, at + 1, end)
    if follows == '"' and not double:
        return pass_double(text, at + 1, end, depth)
    return at


def pass_brace(text: str, at: int, end: int, depth: int, double: bool = False) -> int:
    start = at
    while found := _IN_BRACE.search(text, at, end):
        at = found.end()
        sign = found[0]
        if sign == "}":
            return at
        if sign == "\\":
            at += 1
        elif sign == "'":
            if not double:  # inside double quotes, `${X:-it's}` has an apostrophe
                at = pass_single(text, at, end)
        else:
            at = _pass_sign(text, sign, at, end, depth)
    raise UnclosedError(start - 2, "a brace")


def pass_paren(text: str, at: int, end: int, depth: int) -> int:
    start = at
    open_brackets = 1
    while found := _IN_PAREN.search(text, at, end):
        at = found.end()
        sign = found[0][0]
        if sign == "(":
            open_brackets += 1
        elif sign == ")":
            open_brackets -= 1
            if open_brackets == 0:
                return at
        elif sign == "\\":
            at += 1
        elif sign == "'":
            at = pass_single(text, at, end)
        elif sign == "<":
            line = text.find("\n", at, end)
            if line < 0:
                raise UnclosedError(start - 2, "a here-document")
            at = _body(text, line + 1, end, found[2], True)[1]
        elif sign != "#":
            at = _pass_sign(text, sign, at, end, depth)
    raise UnclosedError(start - 2, "a bracket")


def _pass_sign(text: str, sign: str, at: int, end: int, depth: int) -> int:
    if sign == '"':
        return pass_double(text, at, end, depth)
    if sign == "`":
        return pass_backtick(text, at, end)
    return pass_dollar(text, at, end, depth)


def double_paren(text: str, at: int, end: int) -> tuple[int, int] | None:
    """The range between `((` (which begins at `at`) and its `))`; None where these are two subshells."""
    open_brackets = 0
    position = at
    end = min(end, at + _LONGEST_SUM)
    while found := _ARITHMETIC.search(text, position, end):
        position = found.end()
        if found[0] == "(":
            open_brackets += 1
        elif found[0] == ")":
            open_brackets -= 1
            if open_brackets == 1:
                return (at + 2, found.start()) if text.startswith(")", position) else None
            if open_brackets <= 0:
                return None
        elif found[0] != '"':
            return None
    return None


def word_end(text: str, at: int, end: int, depth: int = 0) -> int:
    """Where the word that begins at `at` ends. Raises UnclosedError and TooDeepError."""
    start = at
    while found := _WORD_STOP.search(text, at, end):
        sign = found[0]
        at = found.start()
        if sign == "\\":
            at += 2
        elif sign == "'":
            at = pass_single(text, at + 1, end)
        elif sign == '"':
            at = pass_double(text, at + 1, end, depth)
        elif sign == "`":
            at = pass_backtick(text, at + 1, end)
        elif sign == "$":
            at = pass_dollar(text, at + 1, end, depth)
        elif sign in "<>" and text.startswith("(", at + 1):
            at = pass_paren(text, at + 2, end, depth + 1)
        elif sign == "<" and (placeholder := PLACEHOLDER.match(text, at, end)):
            at = placeholder.end()
        elif sign == "(" and at > start and text[at - 1] in "?*+@!":
            at = pass_paren(text, at + 1, end, depth + 1)  # an extended pattern
        else:
            return at
    return end


def split_words(text: str, at: int, end: int) -> list[tuple[int, int]]:
    """The words of a stretch that holds only words: a test's inside, a resolved string."""
    found: list[tuple[int, int]] = []
    while at < end:
        if text[at] in " \t\r\n":
            at += 1
            continue
        if text.startswith("\\\n", at):
            at += 2
            continue
        stop = word_end(text, at, end)
        if stop == at:
            stop += 2 if text[at : at + 2] in ("&&", "||") else 1
        found.append((at, min(stop, end)))
        at = stop
    return found


def _body(text: str, at: int, end: int, word: str, tabs: bool) -> tuple[int, int]:
    """The end of a here-document's body, and the offset behind its last line. To the end where it is not closed."""
    found = re.compile(("^\t*" if tabs else "^") + re.escape(word) + r"[ \t\r]*$", re.MULTILINE).search(text, at, end)
    if found is None:
        return end, end
    return found.start(), min(end, found.end() + 1)


class Parser:
    """Reads a stretch of a text. `statements` holds what was read, also where `parse` stopped early.

    `problems` are pairs of an offset and a reason.
    """

    __slots__ = ("_depth", "_pending", "at", "end", "problems", "statements", "text")

    def __init__(self, text: str, start: int = 0, end: int | None = None) -> None:
        self.text = text
        self.at = start
        self.end = len(text) if end is None else end
        self.statements: list[Statement] = []
        self.problems: list[tuple[int, str]] = []
        self._pending: list[Redirection] = []
        self._depth = 0

    def parse(self) -> list[Statement]:
        """The statements of the whole stretch. Raises TooDeepError; `statements` then holds those before it."""
        try:
            self._list(frozenset(), self.statements)
        except UnclosedError as error:
            self.problems.append((error.start, f"{error.what} is never closed"))
        return self.statements

    # Moving on ----------------------------------------------------------------------------------------------------

    def _blank(self) -> None:
        found = _BLANK.match(self.text, self.at, self.end)
        if found:
            self.at = found.end()

    def _comment(self) -> None:
        line = self.text.find("\n", self.at, self.end)
        self.at = self.end if line < 0 else line

    def _newline(self) -> None:
        """Past a line break, and the here-documents that begin behind it."""
        self.at += 1
        for redirection in self._pending:
            stop, behind = _body(self.text, self.at, self.end, redirection.word, redirection.tabs)
            redirection.target = (self.at, stop)
            self.at = behind
        self._pending.clear()

    def _gap(self) -> None:
        """Past blanks, comments and line breaks."""
        while True:
            self._blank()
            if self.at >= self.end:
                return
            sign = self.text[self.at]
            if sign == "#":
                self._comment()
            elif sign == "\n":
                self._newline()
            else:
                return

    def _peek(self) -> str:
        """The unquoted word that begins here, "" where there is none."""
        found = _NAME.match(self.text, self.at, self.end)
        stop = found.end() if found else self.at
        if not found:
            for sign in ("[[", "{", "}", "!"):
                if self.text.startswith(sign, self.at):
                    stop = self.at + len(sign)
                    break
        if stop < self.end and self.text[stop] not in " \t\r\n;&|()<>" and not self.text.startswith("\\\n", stop):
            return ""
        return self.text[self.at : stop]

    def _accept(self, word: str) -> bool:
        self._gap()
        if self.at < self.end and self._peek() == word:
            self.at += len(word)
            return True
        return False

    def _problem(self, reason: str) -> None:
        if len(self.problems) < 20:
            self.problems.append((self.at, reason))

    # Statements ---------------------------------------------------------------------------------------------------

    def _list(self, stops: frozenset[str], into: list[Statement]) -> list[Statement]:
        """Statements up to a word of `stops` (or ")" or ";;"), which stays."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise TooDeepError
        text = self.text
        while True:
            self._gap()
            if self.at >= self.end:
                break
            sign = text[self.at]
            if sign in ";&":
                if text.startswith((";;", ";&"), self.at):
                    if ";;" in stops:
                        break
                    self.at += 1
                self.at += 1
                continue
            if sign == ")":
                if ")" in stops:
                    break
                self._problem("a bracket is closed that was not opened")
                self.at += 1
                continue
            if sign == "|":
                self._problem("nothing stands before `|`")
                self.at += 1
                continue
            word = self._peek()
            if word in stops:
                break
            if word in _CLOSERS:
                self._problem(f"`{word}` stands alone")
                self.at += len(word)
                continue
            before = self.at
            statement = self._chain()
            into.append(statement)
            if self.at == before:
                self.at += 1
        self._depth -= 1
        return into

    def _chain(self) -> Statement:
        start = self.at
        first = self._pipeline()
        parts: list[tuple[str, Statement]] = [("", first)]
        while True:
            self._blank()
            operator = self.text[self.at : min(self.at + 2, self.end)]
            if operator not in ("&&", "||"):
                break
            self.at += 2
            self._gap()
            if self.at >= self.end:
                break
            parts.append((operator, self._pipeline()))
        if len(parts) == 1:
            return first
        chain = Chain(start, parts)
        chain.end = parts[-1][1].end
        return chain

    def _pipeline(self) -> Statement:
        start = self.at
        negated = False
        while self._peek() == "!":
            negated = not negated
            self.at += 1
            self._blank()
        parts = [self._command()]
        while True:
            self._blank()
            if not self.text.startswith("|", self.at) or self.at >= self.end or self.text.startswith("||", self.at):
                break
            self.at += 2 if self.text.startswith("|&", self.at) else 1
            self._gap()
            if self.at >= self.end:
                break
            parts.append(self._command())
        if len(parts) == 1 and not negated:
            return parts[0]
        pipeline = Pipeline(start, negated, parts)
        pipeline.end = parts[-1].end
        return pipeline

    def _command(self) -> Statement:
        start = self.at
        text = self.text
        if text.startswith("((", start) and start + 1 < self.end:
            inside = double_paren(text, start, self.end)
            if inside is not None:
                self.at = inside[1] + 2
                return self._closed(Arithmetic(start, inside))
        if text.startswith("(", start) and start < self.end:
            self.at += 1
            group = Group(start, True)
            self._list(frozenset({")"}), group.body)
            self._close(")")
            return self._closed(group)
        word = self._peek()
        if word in _OPENERS:
            statement = self._compound(word, start)
            if statement is not None:
                return statement
        return self._simple()

    def _compound(self, word: str, start: int) -> Statement | None:
        self.at += len(word)
        if word == "if":
            return self._closed(self._if(start))
        if word in ("while", "until"):
            loop = While(start, word == "until")
            self._list(frozenset({"do"}), loop.condition)
            self._do(loop.body)
            return self._closed(loop)
        if word in ("for", "select"):
            return self._closed(self._for(start))
        if word == "case":
            return self._closed(self._case(start))
        if word == "{":
            group = Group(start, False)
            self._list(frozenset({"}"}), group.body)
            self._close("}")
            return self._closed(group)
        if word == "[[":
            stop = self._test_end()
            inside = (self.at, stop)
            self.at = min(self.end, stop + 2)
            return self._closed(Test(start, inside))
        self._blank()  # function name [()]
        name = self._peek_function()
        if not name:
            self.at = start
            return None
        self.at += len(name)
        brackets = _FUNCTION.match(self.text, self.at, self.end)
        if brackets:
            self.at = brackets.end()
        return self._function(start, name)

    def _closed(self, statement: Statement) -> Statement:
        """The end of a compound statement, with the redirections behind it."""
        statement.end = self.at
        redirections: list[Redirection] = []
        while True:
            self._blank()
            redirection = self._redirection()
            if redirection is None:
                break
            redirections.append(redirection)
        if isinstance(statement, Group):
            statement.redirections = redirections
        return statement

    def _close(self, sign: str) -> None:
        self._gap()
        if self.text.startswith(sign, self.at) and self.at < self.end:
            self.at += len(sign)
        else:
            self._problem(f"`{sign}` is missing")

    def _if(self, start: int) -> If:
        node = If(start)
        stops = frozenset({"elif", "else", "fi"})
        while True:
            condition = self._list(frozenset({"then", "fi"}), [])
            if not self._accept("then"):
                self._problem("`then` is missing")
            node.branches.append((condition, self._list(stops, [])))
            if self._accept("elif"):
                continue
            if self._accept("else"):
                node.otherwise = self._list(frozenset({"fi"}), [])
            if not self._accept("fi"):
                self._problem("`fi` is missing")
            return node

    def _for(self, start: int) -> For:
        node = For(start)
        self._blank()
        if self.text.startswith("((", self.at):
            node.header = double_paren(self.text, self.at, self.end)
            if node.header is None:
                self._problem("`))` is missing")
            else:
                self.at = node.header[1] + 2
        else:
            name = _NAME.match(self.text, self.at, self.end)
            if name:
                node.name = name[0]
                self.at = name.end()
            if self._accept("in"):
                node.words = self._words(";\n&")
        self._blank()
        if self.text.startswith(";", self.at) and self.at < self.end:
            self.at += 1
        self._do(node.body)
        return node

    def _words(self, stops: str) -> list[tuple[int, int]]:
        words: list[tuple[int, int]] = []
        while True:
            self._blank()
            if self.at >= self.end or self.text[self.at] in stops:
                return words
            if self.text[self.at] == "#":
                self._comment()
                continue
            stop = word_end(self.text, self.at, self.end, self._depth)
            if stop == self.at:
                return words
            words.append((self.at, stop))
            self.at = stop

    def _do(self, body: list[Statement]) -> None:
        if self._accept("do"):
            self._list(frozenset({"done"}), body)
            if not self._accept("done"):
                self._problem("`done` is missing")
        elif self._accept("{"):
            self._list(frozenset({"}"}), body)
            self._close("}")
        else:
            self._problem("`do` is missing")

    def _case(self, start: int) -> Case:
        node = Case(start)
        self._blank()
        stop = word_end(self.text, self.at, self.end, self._depth)
        node.subject = (self.at, stop)
        self.at = stop
        if not self._accept("in"):
            self._problem("`in` is missing")
            return node
        while True:
            self._gap()
            if self.at >= self.end:
                self._problem("`esac` is missing")
                return node
            if self._accept("esac"):
                return node
            if self.text[self.at] == "(":
                self.at += 1
            patterns: list[tuple[int, int]] = []
            while True:
                self._blank()
                stop = word_end(self.text, self.at, self.end, self._depth)
                if stop > self.at:
                    patterns.append((self.at, stop))
                self.at = stop
                self._blank()
                if self.at < self.end and self.text[self.at] == "|":
                    self.at += 1
                    continue
                break
            if self.at < self.end and self.text[self.at] == ")":
                self.at += 1
            else:
                self._problem("`)` is missing")
                self.at += 1
            node.items.append((patterns, self._list(frozenset({";;", "esac"}), [])))
            if self.text.startswith((";;", ";&"), self.at):
                self.at += 2
                if self.text.startswith("&", self.at):
                    self.at += 1

    def _test_end(self) -> int:
        """Where the `]]` stands; the end of the line where there is none."""
        start = self.at
        at = start
        while found := _IN_TEST.search(self.text, at, self.end):
            at = found.end()
            sign = found[0]
            if sign == "]]":
                return found.start()
            if sign == "\\":
                at += 1
            elif sign == "'":
                at = pass_single(self.text, at, self.end)
            else:
                at = _pass_sign(self.text, sign, at, self.end, self._depth)
        self._problem("`]]` is missing")
        line = self.text.find("\n", start, self.end)
        return self.end if line < 0 else line

    def _peek_function(self) -> str:
        found = re.compile(r"[^\s;&|()<>'\"\\$`]+").match(self.text, self.at, self.end)
        return found[0] if found else ""

    def _function(self, start: int, name: str) -> Statement:
        node = Function(start, name)
        self._gap()
        if self.at < self.end:
            self._depth += 1
            if self._depth > DEEPEST:
                raise TooDeepError
            node.body = self._command()
            self._depth -= 1
        node.end = self.at
        return node

    # Simple commands ----------------------------------------------------------------------------------------------

    def _simple(self) -> Statement:
        text = self.text
        node = Simple(self.at)
        declares = False
        while True:
            self._blank()
            if self.at >= self.end:
                break
            sign = text[self.at]
            if sign == "#":
                self._comment()
                break
            if sign in "\n;|()" or (sign == "&" and not text.startswith("&>", self.at)):
                break
            redirection = self._redirection()
            if redirection is not None:
                node.redirections.append(redirection)
                continue
            start = self.at
            stop = word_end(text, start, self.end, self._depth)
            if stop == start:
                break
            assignment = _ASSIGNMENT.match(text, start, stop)
            if assignment and (not node.words or declares or text[stop : stop + 1] == "("):
                node.assignments.append(self._assignment(assignment, start, stop))
                node.end = self.at
                continue
            self.at = stop
            if stop < self.end and text[stop] in "<>" and text[start:stop].isdigit():
                continue  # 2>&1: the number belongs to the redirection
            if not node.words and not node.assignments:
                brackets = _FUNCTION.match(text, stop, self.end)
                if brackets:
                    self.at = brackets.end()
                    return self._function(start, text[start:stop])
                declares = text[start:stop] in DECLARERS
            node.words.append((start, stop))
            node.end = stop
        return node

    def _assignment(self, found: re.Match[str], start: int, stop: int) -> Assignment:
        value = found.end()
        items: list[tuple[int, int]] | None = None
        self.at = stop
        if value == stop and stop < self.end and self.text[stop] == "(":
            items = []
            self.at = stop + 1
            while True:
                self._gap()
                if self.at >= self.end or self.text[self.at] == ")":
                    break
                behind = word_end(self.text, self.at, self.end, self._depth)
                if behind == self.at:
                    self.at += 1  # `;`, `&` or `|`, which bash refuses here
                    continue
                items.append((self.at, behind))
                self.at = behind
            if self.at >= self.end:
                raise UnclosedError(stop, "an array")
            self.at += 1
        return Assignment(found[1], found[2], bool(found[3]), start, self.at, (value, stop), items)

    def _redirection(self) -> Redirection | None:
        text = self.text
        if self.at >= self.end:
            return None
        at = self.at
        while at < self.end and text[at] in "0123456789":
            at += 1
        found = _REDIRECTION.match(text, at, self.end)
        if found is None or (found[0].startswith("&") and at != self.at):
            return None
        if found[0] in ("<", ">") and text.startswith("(", found.end()):
            return None  # a process substitution, which is a word
        if found[0] == "<" and at == self.at and PLACEHOLDER.match(text, at, self.end):
            return None
        self.at = found.end()
        self._blank()
        stop = word_end(text, self.at, self.end, self._depth)
        redirection = Redirection(found[0], (self.at, stop))
        if found[0] in ("<<", "<<-"):
            word = text[self.at : stop]
            redirection.word = re.sub(r"['\"\\]", "", word)
            redirection.literal = redirection.word != word
            redirection.tabs = found[0] == "<<-"
            redirection.target = (stop, stop)
            if redirection.word:
                self._pending.append(redirection)
        self.at = stop
        return redirection
