"""What public functions are given is checked by name; what they return says what it rests on.

Read `held` first: runs, qrels and judgments from what people hold (paths, matrices, dicts, frames), and back
to what other programs take. `arguments` refuses a wrong object in one line, and has a notebook say what a
table rests on.
"""
