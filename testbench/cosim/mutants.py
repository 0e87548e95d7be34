# SPDX-License-Identifier: Apache-2.0
"""Changes of SystemVerilog: the places where an operator, constant or condition may be another one. Also texts that
hold many changes at once, of which a simulation makes one (`+mutant=N`) or none.

Expressions of the language are read: brackets, unary and binary operators, what a primary is made of. What cannot be
read is not changed.
"""
import re

TOKEN = re.compile(r"""\"(?:\\.|[^\"\\])*\"
                       |\d*'s?[bdohBDOH][\da-fA-FxzXZ_?]+|'[01](?![\w'])|\d[\d_]*|[`$]?[A-Za-z_][\w$]*
                       |<<<|>>>|===|!==|<<=|>>=|\|->|\+:|-:|->|==|!=|<=|>=|&&|\|\||<<|>>|::|[-+*/%&|^]=|\*\*
                       |~[&|^]|[][(){}<>=!~&|^+*/%?:;,.@\#'-]""", re.X)
HIDDEN = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*`[^\n]*", re.S | re.M)  # comments, directives
BINARY = {op: strength for strength, ops in enumerate(
    ("->", "||", "&&", "|", "^", "&", "== != === !==", "< <= > >= inside", "<< >> <<< >>>", "+ -", "* / %", "**"), 1)
    for op in ops.split()}
UNARY = {"!", "~", "-", "+", "&", "|", "^", "~&", "~|", "~^"}
OPENS = {"(": ")", "[": "]", "{": "}"}
ASSIGNS = {"=", "+=", "-=", "*=", "/=", "&=", "|=", "^="}
# Behind these an expression begins.
BEGINS = {*OPENS, *ASSIGNS, ",", "?", ":", "return", "<="}
SWAPS = {"==": ["!="], "!=": ["=="], "<=": ["<", ">="], ">=": [">", "<="], "<": ["<=", ">"], ">": [">=", "<"],
         "&&": ["||"], "||": ["&&"], "+": ["-"], "-": ["+"], "&": ["|"], "|": ["&"]}
OTHER = {"1'b0": "1'b1", "1'b1": "1'b0", "'0": "'1", "'1": "'0"}
# A line that declares something; of variables: a type, blanks, names.
DECLARATION = re.compile(r"\s*(localparam|parameter|typedef|input|output|logic|for|task|function|import|module|"
                         r"endmodule)\b|\s*(\w+::)?\w+_t +\w+(, \w+)*;")
PACKAGE = """\
package rxnic_mutant_pkg;
  function automatic int asked();
    int number;
    if (!$value$plusargs("mutant=%d", number)) number = 0;
    return number;
  endfunction
  int number = asked();
endpackage
"""
CHOSEN = "rxnic_mutant_pkg::number"


class Source:
    """A file's tokens, and the expressions in it."""

    def __init__(self, text):
        self.text = HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
        self.tokens = [(found[0], *found.span()) for found in TOKEN.finditer(self.text)]
        self.closing = self.match_brackets()
        self.fixed = self.constants()
        self.binaries = {}  # operator's token: (the first token of its left operand, the one behind its right operand)
        self.assigning = self.assignments()
        for at, (token, _, _) in enumerate(self.tokens):
            if token in BEGINS and (token != "<=" or at in self.assigning):
                self.expression(at + 1)

    def match_brackets(self):
        pairs, opened = {}, []
        for at, (token, _, _) in enumerate(self.tokens):
            if token in OPENS:
                opened.append(at)
            elif token in OPENS.values() and opened:
                pairs[opened.pop()] = at
        return pairs

    def constants(self):
        """The tokens that have to be constant: of bounds, widths, casts, and parameters."""
        fixed = set()
        for opening, closing in self.closing.items():
            inside = range(opening + 1, closing)
            if self.token(opening) == "[":
                depths = {at: sum(opening < o < at <= c for o, c in self.closing.items()) for at in inside}
                colons = [at for at in inside if self.token(at) in (":", "+:", "-:") and not depths[at]]
                fixed.update(inside if any(self.token(at) == ":" for at in colons) else
                             range(colons[0], closing) if colons else ())
            elif self.token(closing + 1) == "'" or self.token(opening - 1) == "#":
                fixed.update(inside)
        return fixed

    def assignments(self):
        """Where <= assigns: outside of brackets, before any other assignment of its statement."""
        found, depth, assigned = set(), 0, False
        for at, (token, _, _) in enumerate(self.tokens):
            depth += (token in OPENS) - (token in OPENS.values())
            if depth > 0:
                continue
            if token == "<=" and not assigned:
                found.add(at)
            assigned = (assigned or token in ASSIGNS or token in ("<=", "return")) and token not in (
                ";", "begin", "end", "else")
        return found

    def token(self, at):
        return self.tokens[at][0] if at < len(self.tokens) else ""

    def expression(self, at, strength=0):
        """The token behind the expression that begins with token `at`, or None. Its operators bind stronger."""
        begin, end = at, self.operand(at)
        while end is not None:
            op = self.token(end)
            if op == "?" and strength == 0:
                end = self.expression(end + 1)
                if end is None or self.token(end) != ":":
                    return None
                end = self.expression(end + 1)
                continue
            if BINARY.get(op, 0) <= strength or end in self.assigning:
                return end
            behind = self.expression(end + 1, BINARY[op])
            if behind is not None and end not in self.binaries:
                self.binaries[end] = (begin, behind)
            end = behind
        return None

    def operand(self, at):
        """The token behind a primary with its unary operators, or None."""
        while self.token(at) in UNARY:
            at += 1
        if self.token(at) == "'":  # an assignment pattern
            at += 1
        token = self.token(at)
        if token in ("(", "{"):
            at = self.closing.get(at, len(self.tokens)) + 1
        elif re.match(r"[\w'$]", token) and token not in BINARY:
            at += 1
        else:
            return None
        while self.token(at) in ("[", "(", ".", "::", "'"):
            at = self.closing[at] + 1 if self.closing.get(at) else at + 1 if self.token(at) == "'" else at + 2
        return at

    def constant(self, at):
        """Whether a number has to stay as it is."""
        return at in self.fixed or self.token(at - 1) in ("[", "{", ".") or self.token(at + 1) in (":", "'", "{")

    def is_extreme(self, first, op, behind):
        """Whether a comparison takes the smaller or the larger one of its operands: a < b ? a : b."""
        names = [[token for token, _, _ in self.tokens[begin:end]] for begin, end in ((first, op), (op + 1, behind))]
        size = len(names[0]) + 1 + len(names[1])
        taken = [token for token, _, _ in self.tokens[behind + 1:behind + 1 + size]]
        return self.token(behind) == "?" and taken in ([*names[0], ":", *names[1]], [*names[1], ":", *names[0]])

    def span(self, begin, behind):
        """The characters of tokens."""
        return self.tokens[begin][1], self.tokens[behind - 1][2]

    def changes(self):
        """[(begin, end, new text, what is changed)]"""
        for at, (token, begin, end) in enumerate(self.tokens):
            if at in self.fixed:
                continue
            if at in self.binaries and token in SWAPS:
                first, behind = self.binaries[at]
                left, right = self.span(first, behind)
                for new in SWAPS[token]:
                    if {token, new} in ({"<", "<="}, {">", ">="}) and self.is_extreme(first, at, behind):
                        continue  # of two that are equal either may be taken
                    yield left, right, self.text[left:begin] + new + self.text[end:right], f"{token} -> {new}"
            elif token in ("+=", "-="):
                behind = next(n for n in range(at, len(self.tokens)) if self.token(n) == ";")
                left, right = self.span(at + 1, behind)
                yield left, right, f"-({self.text[left:right]})", f"{token} -> {'-=' if token == '+=' else '+='}"
            elif token == "!":
                behind = self.operand(at + 1)
                if behind is not None:
                    left, right = self.span(at + 1, behind)
                    yield begin, right, self.text[left:right], "! -> (nothing)"
            elif token in OTHER:
                yield begin, end, OTHER[token], f"{token} -> {OTHER[token]}"
            elif token.isdigit() and not self.constant(at):
                for new in (int(token) + 1, int(token) - 1):
                    if new >= 0:
                        yield begin, end, str(new), f"{token} -> {new}"
            elif token == "(" and self.token(at - 1) == "if" and at in self.closing:
                left, right = begin + 1, self.tokens[self.closing[at]][1]
                was = self.text[left:right]
                for new in ("1'b0", "1'b1", f"!({was})"):
                    yield left, right, new, f"({' '.join(was.split())}) -> ({new if new[0] == '1' else '!(...)'})"


class Mutant:
    """A change of one place of a file. `number`: of all that are made together, from 1 on."""

    def __init__(self, file, source, lines, change):
        self.file, self.number = file, 0
        self.begin, self.end, new, self.change = change
        self.new = " ".join(new.split())
        before = source.text[:self.begin]
        self.line, self.column = before.count("\n") + 1, self.begin - before.rfind("\n")
        self.was = lines[self.line - 1]

    def __str__(self):
        return f"{self.file.name}:{self.line}:{self.column}: {self.change}"

    def excuse(self, table):
        """Why it changes nothing, or None."""
        return next((entry["because"] for entry in table if entry["change"] == self.change
                     and any(was in self.was for was in entry["was"])), None)


def mutants(files):
    """Every one of the files, behind the declarations of a module."""
    found = []
    for file in files:
        text = file.read_text(encoding="utf-8")
        source, lines = Source(text), text.splitlines()
        body = next((n for n, line in enumerate(lines, 1) if line.startswith(");")), 0)  # a package has none
        found += [mutant for mutant in (Mutant(file, source, lines, change) for change in source.changes())
                  if mutant.line > body and not DECLARATION.match(lines[mutant.line - 1])]
    return found


def text_of_all(text, chosen):
    """A file's text in which rxnic_mutant_pkg::number chooses one of its mutants; none when it is the number of none.
    Lines keep their numbers."""
    pieces = []  # (where, the order there, what)
    for m in chosen:
        size = m.end - m.begin
        pieces.append((m.begin, 1, -size, m.number, f"({CHOSEN} == {m.number} ? {m.new} : "))
        pieces.append((m.end, 0, size, -m.number, ")"))
    out, at = [], 0
    for where, _, _, _, what in sorted(pieces):
        out += [text[at:where], what]
        at = where
    return "".join([*out, text[at:]])
