# SPDX-License-Identifier: Apache-2.0
"""Conditions and sums over names: "rates.packets_per_s >= 0.95 * max and dropped.icrc == 0".

The text is parsed, never executed. It may hold numbers, text in quotes, lists, names with points and + - * / // %.
Comparisons, `in`, and, or, not, and the functions of FUNCTIONS join them.
"""
import ast
import difflib
import math
import operator

FUNCTIONS = {"min": min, "max": max, "abs": abs, "log2": math.log2, "round": round}
BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
          ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod}
COMPARE = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
           ast.NotEq: operator.ne, ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b}
UNARY = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_}
LONGEST, DEEPEST = 2000, 100  # characters, and parts in parts


class ExpressionError(ValueError):
    """What is wrong with an expression, or with what it was given; the message quotes the part."""


def _dotted(node):
    """"a.b.c" of a name with points, or None."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return before and f"{before}.{node.attr}"
    return None


class Expression:
    """A parsed text. `names` are those it reads.

    known  the names that it may read; a name without its section means the only one that ends so. None: any name, as it
           stands. Raises ExpressionError.
    """

    def __init__(self, text, known=None):
        self.text = text
        self.names = set()
        self._meant = {}
        if len(text) > LONGEST:
            raise ExpressionError(f"found {len(text)} characters; expected at most {LONGEST}")
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as wrong:
            raise ExpressionError(f"found '{text}'; expected a condition, as \"a.b >= 0.95 * c.d\""
                                  f" ({getattr(wrong, 'msg', wrong)})") from None
        self._check(self._tree, None if known is None else list(known))

    def _part(self, node):
        return ast.get_source_segment(self.text.strip(), node) or type(node).__name__

    def _check(self, node, known, depth=0):
        if depth > DEEPEST:
            raise ExpressionError(f"found parts that are nested {depth} deep; expected at most {DEEPEST}")
        name = _dotted(node)
        if name is not None:
            self._meant[name] = self._resolve(name, known)
            self.names.add(self._meant[name])
        elif isinstance(node, ast.Constant):
            if not isinstance(node.value, (int, float, str)):
                raise ExpressionError(f"found {self._part(node)}; expected a number, or text in quotes")
        elif isinstance(node, (ast.BoolOp, ast.List, ast.Tuple)):
            for part in node.values if isinstance(node, ast.BoolOp) else node.elts:
                self._check(part, known, depth + 1)
        elif isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            self._check(node.left, known, depth + 1)
            self._check(node.right, known, depth + 1)
        elif isinstance(node, ast.UnaryOp) and type(node.op) in UNARY:
            self._check(node.operand, known, depth + 1)
        elif isinstance(node, ast.Compare) and all(type(op) in COMPARE for op in node.ops):
            for part in [node.left, *node.comparators]:
                self._check(part, known, depth + 1)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            if node.func.id not in FUNCTIONS:
                raise ExpressionError(f"found {node.func.id}(); expected one of {', '.join(sorted(FUNCTIONS))}")
            for part in node.args:
                self._check(part, known, depth + 1)
        else:
            raise ExpressionError(f"found '{self._part(node)}'; expected names, numbers, + - * / // %, comparisons, "
                                  "and, or, not")

    @staticmethod
    def _resolve(name, known):
        if known is None or name in known:
            return name
        ends = [one for one in known if one.endswith("." + name)]
        if len(ends) == 1:
            return ends[0]
        if ends:
            raise ExpressionError(f"found '{name}'; expected its section: {' or '.join(sorted(ends))}")
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
        more = f"; did you mean '{near[0]}'?" if near else ""
        shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
        raise ExpressionError(f"found '{name}'; expected one of {shown}{more}")

    def value(self, values):
        """Its value, with values[name] for each name (a mapping). Raises ExpressionError."""
        try:
            return self._value(self._tree, values)
        except (TypeError, ZeroDivisionError, OverflowError, ValueError) as wrong:
            if isinstance(wrong, ExpressionError):
                raise
            raise ExpressionError(f"{self.text}: {wrong}") from None

    def _value(self, node, values):
        name = _dotted(node)
        if name is not None:
            meant = self._meant[name]
            try:
                return values[meant]
            except KeyError:
                raise ExpressionError(f"{self.text}: there is no '{meant}' here") from None
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.BoolOp):
            held = (bool(self._value(part, values)) for part in node.values)
            return any(held) if isinstance(node.op, ast.Or) else all(held)
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self._value(part, values) for part in node.elts]
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left, values), self._value(node.right, values)
            if isinstance(left, (str, list)) or isinstance(right, (str, list)):
                raise ExpressionError(f"{self.text}: found '{left}' and '{right}'; expected numbers")
            return BINARY[type(node.op)](left, right)
        if isinstance(node, ast.UnaryOp):
            return UNARY[type(node.op)](self._value(node.operand, values))
        if isinstance(node, ast.Compare):
            left = self._value(node.left, values)
            for op, part in zip(node.ops, node.comparators):
                right = self._value(part, values)
                if not COMPARE[type(op)](left, right):
                    return False
                left = right
            return True
        return FUNCTIONS[node.func.id](*[self._value(part, values) for part in node.args])
