# SPDX-License-Identifier: Apache-2.0
"""Sentences of comments: none is long, and none begins with words that leave the reader to look for their noun."""
import ast
import dataclasses
import re

MOST_WORDS = 25
BEGINNINGS = ("Of", "The same", "That")
SUFFIXES = (".h", ".cpp", ".sv", ".svh", ".toml", ".py", "CMakeLists.txt", ".cmake")

# What begins a text of its own inside a comment. These are a numbered rule, an item of a list or a step, and a term
# with its meaning.
RULE = re.compile(r"R\d+\s+(?=\S)")
ITEM = re.compile(r"(?:[-*]\s+|\d+\.\s+|\(\d+\)\s+)(?=\S)")
TERM = re.compile(r"\S+(?: \S+){0,3}\s{2,}(?=\S)")
# Behind a full stop a sentence begins with a capital letter, a quotation, a bracket or an identifier.
SENTENCE_END = re.compile(r"[.!?][)\"']*\s+(?=[A-Z`\"'(]|k[A-Z]|\w+(?:\(|_\w|::|\.\w))")
HEADLESS = re.compile(rf"(?:^|[;:] )({'|'.join(BEGINNINGS)})\b")
NO_TEXT = re.compile(r"!|\s*(?:SPDX-|NOLINT|clang-format|verilator|noqa|pylint|shellcheck)")


@dataclasses.dataclass
class Line:
    """A line of a comment: its number in the file, the columns of its mark and of its text, and the text."""
    number: int
    mark: int
    column: int
    text: str
    indent: int    # of the lines that it belongs to
    goes_on: bool  # there is nothing else in its line, so that it may belong to the line above


def literals_and_comments(suffix):
    """A literal may hold what looks like a comment, a comment what looks like a literal: the first one counts."""
    quoted = r'"(?:\\.|[^"\\\n])*"'
    if suffix in (".py", ".toml", ".txt", ".cmake"):
        return re.compile(r'"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|' + rf"{quoted}|'(?:\\.|[^'\\\n])*'"
                          r"|(?P<comment>(?P<mark>#)[^\n]*)")
    if suffix in (".h", ".cpp"):  # ' may also divide the digits of a number
        quoted = rf'R"(?P<raw>\w*)\((?s:.*?)\)(?P=raw)"|{quoted}|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
    return re.compile(rf"{quoted}|(?P<comment>(?P<mark>//)[^\n]*|/\*(?s:.*?)\*/)")


def comment_lines(text, suffix):
    """All lines of comments, in the order of the file."""
    number, begins = 1, 0
    for found in literals_and_comments(suffix).finditer(text):
        if found["comment"] is None:
            continue
        number += text.count("\n", begins, found.start())
        begins = found.start()
        column = begins - text.rfind("\n", 0, begins) - 1
        alone = not text[begins - column:begins].strip()
        mark = found["mark"] or "/*"
        for n, body in enumerate(found["comment"][len(mark):].removesuffix("*/").split("\n")):
            if not NO_TEXT.match(body):
                at = (column + len(mark) if n == 0 else 0) + len(body) - len(body.lstrip())
                yield Line(number + n, column, at, body.strip(), at, alone or n > 0)


def docstring_lines(text):
    """Those of a source in Python, with the quotation mark as the mark."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:
        return
    lines = text.split("\n")
    for node in nodes:
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            at = node.body[0]
            for number in range(at.lineno, at.end_lineno + 1):
                line = lines[number - 1]
                if number == at.end_lineno:
                    line = re.sub(r'("""|\'\'\'|"|\')$', "", line)
                column = len(line) - len(line.lstrip())
                indent = column
                if number == at.lineno:
                    column += len(re.match(r'\w*("""|\'\'\'|"|\')\s*', line[column:])[0])
                yield Line(number, at.col_offset, column, line[column:].rstrip(), indent, True)


def groups_of(lines):
    """Lines that stand one under the other."""
    group = []
    for line in lines:
        if group and not (line.goes_on and line.number == group[-1].number + 1 and line.mark == group[-1].mark):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def units_of(text, suffix):
    """Runs of lines that are one text: a paragraph, a rule, an item, or the meaning of a term."""
    groups = list(groups_of(comment_lines(text, suffix)))
    if suffix == ".py":
        groups += groups_of(docstring_lines(text))
    for group in groups:
        unit, indent, item = [], 0, None  # `indent` of the text that goes on; `item`: the column of its mark
        for line in group:
            start = TERM.match(line.text) or ITEM.match(line.text)
            if not start and (not unit or line.indent != indent or line.indent == item):
                start = RULE.match(line.text)
            if unit and (start or line.indent != indent or not line.text or line.text.startswith("|")):
                yield unit
                unit = []
            if not line.text:
                continue
            begins = start.end() if start else 0
            if not unit:
                indent, item = line.indent + begins, line.indent if start else None
            unit.append(dataclasses.replace(line, column=line.column + begins, text=line.text[begins:]))
        if unit:
            yield unit


def sentences_of(unit):
    """Each sentence with the number of the line in which it begins."""
    text, lines = "", []
    for line in unit:
        lines.append((len(text), line.number))
        text += line.text + " "
    at = 0
    for end in [*(found.end() for found in SENTENCE_END.finditer(text)), len(text)]:
        yield max(number for begins, number in lines if begins <= at), text[at:end].strip()
        at = end


def is_prose(words):
    """A table, a sample of code or a formula is no sentence."""
    plain = sum(bool(re.fullmatch(r"[A-Za-z'-]+[.,;:!?)]*", word)) for word in words)
    return not re.search(r"^[|{]|[{}]$", " ".join(words)) and plain * 2 >= len(words)


def fault_of(sentence):
    """What is wrong with a sentence; None: nothing."""
    words = sentence.split()
    begins = HEADLESS.search(sentence)
    if begins:
        return f'begins with "{begins[1]}"'
    if len(words) > MOST_WORDS and is_prose(words):
        return f"has {len(words)} words, more than {MOST_WORDS}"
    return None


def offences(tree):
    for name in tree.named(*SUFFIXES):
        for unit in units_of(tree.text(name), name[name.rindex("."):]):
            for number, sentence in sentences_of(unit):
                fault = fault_of(sentence)
                if fault:
                    yield f"{name}:{number}: a sentence {fault}: {' '.join(sentence.split()[:8])} ..."
