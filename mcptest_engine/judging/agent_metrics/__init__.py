"""What is measured of the calls that a model made, without asking another model. Pure functions of the trace.

Each block of an agent test is one module with a `measure(written, seen)`, and a line in `measuring.GATES`.
"""
