#!/usr/bin/env python3
"""Writes tokens.npy: COUNT token ids below VOCAB (int32, one axis), a fixed sequence with short repeats to learn."""
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "tokens.npy")
    vocab = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 4000
    ids, state = [], 1
    for i in range(count):
        state = (1103515245 * state + 12345) % (1 << 31)
        ids.append(ids[i - 7] if i >= 7 and state % 3 else state // 65536 % vocab)
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({count},), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{count}i", *ids))


if __name__ == "__main__":
    main()
