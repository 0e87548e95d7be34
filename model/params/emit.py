# SPDX-License-Identifier: Apache-2.0
"""What the generators of this project share: names, checks of a description's text, banners, and files written only
when their text changes."""
import re


class DescriptionError(Exception):
    """A flaw of a description; the text names the file, the key and what was expected."""


def camel(snake):
    return "".join(part.capitalize() for part in snake.split("_"))


def snake(upper_camel):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", upper_camel).lower()


def is_plain_text(value):
    """Whether it can stand in a C++ string literal as it is."""
    return isinstance(value, str) and '"' not in value and "\\" not in value


def is_sentence(value):
    return is_plain_text(value) and value.endswith(".")


def banner(source, generator):
    return ("// SPDX-License-Identifier: Apache-2.0\n"
            f"// Made from {source} by: {generator} --out <build>/generated\n"
            "// Do not edit.\n")


def write_if_changed(path, text):
    if path.exists() and path.read_text() == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return True
