# SPDX-License-Identifier: Apache-2.0
"""python report FILE.json… -o OUT/index.html, or python report picture FILE.json… --out FOLDER"""
import argparse
import logging
import pathlib
import sys
import warnings

from . import document


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    makes_picture = arguments[:1] == ["picture"]
    options = (_picture_options if makes_picture else _page_options)(arguments[makes_picture:])
    try:
        trainings = [training for file in options.files for training in document.read(file)]
        # matplotlib takes long to import, so it comes after the check of the files. It would warn users about fonts.
        logging.getLogger("matplotlib").setLevel(logging.ERROR)
        warnings.simplefilter("ignore")
        (_write_picture if makes_picture else _write_page)(trainings, options)
    except (document.Refused, OSError) as error:
        print(f"syclamp_report: {error}", file=sys.stderr)
        return 1
    return 0


def _page_options(arguments):
    parser = argparse.ArgumentParser(prog="syclamp_report", description="The report of `syclamp train --json FILE`, as one page.",
                                     epilog="syclamp_report picture --help tells how to make the picture of the README.")
    _add_files(parser, "several files share one page")
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path, metavar="OUT.html")
    return parser.parse_args(arguments)


def _picture_options(arguments):
    parser = argparse.ArgumentParser(prog="syclamp_report picture",
                                     description="Held-out loss and exponents of gradients: demo-light.svg and demo-dark.svg.")
    _add_files(parser, "the first one with runs in FP32, FP16 without scaling and FP16 with dynamic scaling is drawn")
    parser.add_argument("--task", metavar="NAME", help="draw the result of this task")
    parser.add_argument("--out", required=True, type=pathlib.Path, metavar="FOLDER")
    return parser.parse_args(arguments)


def _add_files(parser, note):
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE.json", help=f"a result, or a list of results; {note}")


def _write_page(trainings, options):
    from . import page, training
    page.write(options.output, training.render(trainings))


def _write_picture(trainings, options):
    from . import page, picture
    for theme, text in picture.render(trainings, options.task).items():
        page.write(options.out / f"demo-{theme}.svg", text)


if __name__ == "__main__":
    raise SystemExit(main())
