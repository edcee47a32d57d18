# SPDX-License-Identifier: Apache-2.0
"""The style of all figures. In a page their colours are CSS variables, so that they follow the colour scheme. Their text is text
in the font of the page."""
import contextlib
import io
import itertools
import json
import pathlib
import re
import xml.etree.ElementTree as xml
from dataclasses import dataclass

import matplotlib
from markupsafe import Markup
from matplotlib.figure import Figure

WIDTH = 380  # of the view box: fits a phone at its own size, and half a desktop page enlarged

# matplotlib wants colours, the page has variables (style.css): each role is drawn in a colour that nothing else has.
_ROLES = ("ink", "muted", "grid", "surface", "lost", "coarse", "scaling", "phase-1", "phase-2", "phase-3", "phase-4", "fp32",
          "none", "static", "dynamic", "bf16", "other-1", "other-2", "other-3")
_COLOURS = {role: f"#fe{at:02x}ef" for at, role in enumerate(_ROLES)}
_VARIABLES = {colour: f"var(--{role})" for role, colour in _COLOURS.items()}


SVG = "http://www.w3.org/2000/svg"


def colour(role):
    return _COLOURS[role]


def theme(name):
    """The colours of the style sheet for "light" or "dark", by role: for pictures that no style sheet reaches."""
    sheet = (pathlib.Path(__file__).parent / "style.css").read_text(encoding="utf-8")
    light, dark = sheet.split("@media (prefers-color-scheme: dark)")
    block = {"light": light, "dark": dark}[name].split("}")[0]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))


@dataclass(frozen=True)
class Chart:
    title: str
    svg: Markup
    caption: str


@dataclass(frozen=True)
class Look:
    """How a run is drawn, the same in all figures; never by colour alone."""
    role: str
    line: object
    marker: str
    width: float = 1.6

    @property
    def colour(self):
        return colour(self.role)


_LOOKS = {
    "fp32": Look("fp32", "-", "o", 3.2),  # wide and first: what lies on it stays visible
    "fp16-none": Look("none", (0, (5, 2)), "X"),
    "fp16-static": Look("static", (0, (6, 1.5, 1, 1.5)), "s"),
    "fp16-dynamic": Look("dynamic", "-", "D"),
    "bf16": Look("bf16", (0, (1.2, 1.2)), "^"),
}
_OTHERS = [Look("other-1", (0, (3, 1)), "v"), Look("other-2", (0, (8, 2)), "P"), Look("other-3", (0, (2, 2)), "*")]


def looks(names):
    """A look for each run, by its name."""
    others = itertools.cycle(_OTHERS)
    return [_LOOKS.get(name) or next(others) for name in names]


@contextlib.contextmanager
def style(name):
    """The house style. Nothing of the user's matplotlibrc, and no text is taken for mathematics."""
    ink, muted, grid = colour("ink"), colour("muted"), colour("grid")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({
            "svg.fonttype": "none", "svg.hashsalt": name, "text.parse_math": False, "font.family": "DejaVu Sans",
            "font.size": 10.5, "axes.labelsize": 10.5, "xtick.labelsize": 10, "ytick.labelsize": 10, "legend.fontsize": 10.5,
            "text.color": ink, "axes.labelcolor": muted, "xtick.color": muted, "ytick.color": muted, "xtick.labelcolor": muted,
            "ytick.labelcolor": muted, "axes.edgecolor": muted, "grid.color": grid, "grid.linewidth": 0.8,
            "axes.linewidth": 0.8, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
            "axes.axisbelow": True, "xtick.major.size": 3, "ytick.major.size": 0, "ytick.minor.size": 0, "xtick.minor.size": 0,
            "legend.frameon": False, "legend.handlelength": 2.4, "legend.columnspacing": 1.4, "legend.labelspacing": 0.3,
            "legend.borderpad": 0, "legend.borderaxespad": 0.3, "lines.solid_capstyle": "round",
            "lines.scale_dashes": True, "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none",
            "path.simplify": True, "path.simplify_threshold": 0.2, "hatch.linewidth": 0.8,
        })
        yield


def figure(height, width=WIDTH, mosaic=None, **subplots):
    """A figure, by default of the page's width, and its axes. A mosaic gives them by name. Called inside `style`."""
    drawn = Figure(figsize=(width / 72, height / 72), layout="constrained")
    drawn.get_layout_engine().set(w_pad=2 / 72, h_pad=3 / 72, hspace=0.0, wspace=0.0)
    return drawn, drawn.subplot_mosaic(mosaic) if mosaic else drawn.subplots(**subplots)


def legend(drawn, axes, columns=2, handles=None):
    """Above the axes, where it covers nothing."""
    if handles is None:
        handles = axes.get_legend_handles_labels()[0]
    drawn.legend(handles=handles, loc="outside upper left", ncols=columns)


def svg(drawn, name, description):
    """The figure as an element of the page. `name` makes its ids unique; screen readers read `description` aloud."""
    root = _tree(drawn, name, _VARIABLES)
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": description}
    # The serializer escapes; the names of tensors and runs are nothing but text here.
    return Markup(xml.tostring(root, encoding="unicode"))


def svg_file(drawn, name, description, colours, metadata):
    """The figure as the text of an SVG file. `colours` has a colour for each role; `metadata` becomes JSON in the file."""
    root = _tree(drawn, name, {drawn_in: colours[role] for role, drawn_in in _COLOURS.items()})
    _, _, width, height = root.attrib["viewBox"].split()
    root.attrib = {"xmlns": SVG, "viewBox": root.attrib["viewBox"], "width": width, "height": height, "role": "img",
                   "font-family": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"}
    for tag, text in (("metadata", json.dumps(metadata, indent=1)), ("desc", description)):
        element = xml.Element(tag)
        element.text = text
        root.insert(0, element)
    return xml.tostring(root, encoding="unicode") + "\n"


def _tree(drawn, name, colours):
    """The figure's elements: ids are unique by `name`, colours are replaced, and what says nothing is left out."""
    text = io.StringIO()
    drawn.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    root = xml.fromstring(text.getvalue())
    used = set(re.findall(r"#([\w-]+)", text.getvalue()))
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {key.rpartition("}")[2]: _in_page(value, key, name, colours) for key, value in element.attrib.items()
                          if key != "id" or value in used}
        if element.tag != "text":
            element.text = element.tail = None
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in ("metadata", "style"):
                parent.remove(child)
    _shorten(root)
    return root


def _in_page(value, key, name, colours):
    if key == "id":
        return f"{name}-{value}"
    value = re.sub(r"(url\(#|^#)(?![0-9a-f]{6}$)", rf"\g<1>{name}-", value)
    value = re.sub(r"#[0-9a-f]{6}\b", lambda found: colours.get(found[0], found[0]), value)
    value = re.sub(r"font: (?:\w+ )?([\d.]+)px [^;]*", r"font-size: \1px", value)
    if key == "d":
        value = re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), value)
        value = re.sub(r"\s+", " ", value).strip()
    return value


def _shorten(element):
    """Groups that say nothing are dropped; there are hundreds."""
    for child in element:
        _shorten(child)
    children = []
    for child in element:
        children.extend(list(child) if child.tag == "g" and not child.attrib else [child])
    element[:] = children
