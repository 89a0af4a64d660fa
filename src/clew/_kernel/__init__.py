"""Rules without a colour: no I/O, clock, threads, async, and no message class.

Everything here is a function of its arguments: merging of streamed fragments, partial JSON, schemas.
"""
