# SPDX-License-Identifier: Apache-2.0
"""The check of containers must object to each of these recipes, and to none of those that are right."""
from containers import complaints
from planted import check

WRONG = ("FROM ubuntu", "FROM ubuntu:latest", "FROM ubuntu:", "from rocm/dev-ubuntu-24.04 as build", "ARG BASE=rocm/dev-ubuntu-24.04\nFROM ${BASE}",
         "ARG BASE\nFROM ${BASE}", "ARG BASE\nFROM ubuntu:$BASE", "FROM $BASE", "ARG BASE=ubuntu:latest\nFROM $BASE",
         "FROM ubuntu:24.04 AS build\nFROM ubuntu", "FROM example.org:5000/ubuntu", "FROM --platform=linux/amd64 ubuntu",
         "FROM ubuntu@sha256:12", "# FROM ubuntu:24.04\nRUN true", "FROM \\\n  ubuntu", "FROM ubuntu:24.04 AS build\nFROM builds")
RIGHT = ("FROM ubuntu:24.04", "# A comment\nARG BASE=rocm/dev-ubuntu-24.04:6.2.4-complete\nFROM ${BASE}", "ARG BASE='ubuntu:24.04'\nFROM $BASE",
         "FROM ubuntu:24.04 AS build\nFROM build\nFROM scratch", "FROM example.org:5000/ubuntu:24.04", "FROM --platform=linux/amd64 ubuntu:24.04",
         "ARG VERSION=24.04\nFROM ubuntu:${VERSION}", f"FROM ubuntu@sha256:{'0a' * 32}")


def recipes(kind, texts):
    return {f"packaging/containers/{kind}_{number}.Containerfile": text for number, text in enumerate(texts)}


check(complaints, recipes("wrong", WRONG), {**recipes("right", RIGHT), "packaging/notes.txt": "FROM ubuntu", "docs/Containerfile": "FROM ubuntu"})
