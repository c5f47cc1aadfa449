#!/usr/bin/env python3
"""Writes grid25.csv: 25 points, a outer and b inner in {-1, -0.5, 0, 0.5, 1}, target 0.8 relu(a + b) - 0.4 relu(b - a) + 0.2."""
import os
import sys

STEPS = (-1.0, -0.5, 0.0, 0.5, 1.0)


def target(a, b):
    return 0.8 * max(a + b, 0.0) - 0.4 * max(b - a, 0.0) + 0.2


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "grid25.csv")
    with open(path, "w", newline="\n") as out:
        for a in STEPS:
            for b in STEPS:
                out.write(f"{a},{b},{round(target(a, b), 12) + 0.0}\n")


if __name__ == "__main__":
    main()
