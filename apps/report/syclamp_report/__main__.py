# SPDX-License-Identifier: Apache-2.0
"""python pages FILE.json… -o OUT/index.html"""
import argparse
import logging
import pathlib
import sys
import warnings

from . import document


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="syclamp_report",
                                     description="The report of `syclamp train --json FILE`, as one page.")
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE.json",
                        help="a result, or a list of them; several files share one page")
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path, metavar="OUT.html")
    options = parser.parse_args(arguments)
    try:
        trainings = [training for file in options.files for training in document.read(file)]
        # matplotlib comes late, because it takes its time, and it is quiet: it would tell users about fonts.
        logging.getLogger("matplotlib").setLevel(logging.ERROR)
        warnings.simplefilter("ignore")
        from . import page, training
        page.write(options.output, training.render(trainings))
    except (document.Refused, OSError) as error:
        print(f"syclamp_report: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
