# SPDX-License-Identifier: Apache-2.0
"""Numbers as people read them."""
import math

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
NONE = "–"


def power(exponent):
    return "2" + str(exponent).translate(_RAISED)


def scale(value):
    """2¹⁶ for 65536; other numbers as they are."""
    if value is None:
        return NONE
    significand, exponent = math.frexp(value)
    return power(exponent - 1) if significand == 0.5 and value != 1.0 else f"{value:.6g}"


def number(value, digits=4):
    if value is None:
        return NONE
    if value == 0.0 or 1e-3 <= abs(value) < 1e5:
        text = f"{value:.{digits}g}"
        return text if "e" not in text else f"{value:.0f}"
    significand, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{significand}·10{str(int(exponent)).translate(_RAISED)}"


def count(value):
    return NONE if value is None else f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def percent(share):
    """Two digits that matter, and neither 0 nor 100 where that is not the truth."""
    if share is None:
        return NONE
    value = 100.0 * share
    if value == 0.0 or value == 100.0:
        text = f"{value:.0f}"
    elif value < 0.01:
        text = "<\N{NARROW NO-BREAK SPACE}0.01"
    elif value > 99.99:
        text = ">\N{NARROW NO-BREAK SPACE}99.99"
    else:
        text = f"{value:.2f}" if value < 1.0 or value >= 99.0 else f"{value:.1f}"
    return text + "\N{NARROW NO-BREAK SPACE}%"


def seconds(value):
    if value is None:
        return NONE
    unit, size = next((each for each in (("s", 1.0), ("ms", 1e-3)) if value >= each[1]), ("µs", 1e-6))
    shown = value / size
    return (f"{shown:.3g}" if shown < 1000.0 else f"{shown:.0f}") + f"\N{NARROW NO-BREAK SPACE}{unit}"


def times(ratio):
    return f"{ratio:.1f}" if ratio < 9.95 else count(round(ratio)) if ratio < 1e6 else number(ratio, 2)


def listed(parts):
    """a, b and c"""
    parts = list(parts)
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
