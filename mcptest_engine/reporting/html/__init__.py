"""`html`: a run as one file for the person who has to decide whether to trust it.

`page` puts it together, `audit`, `review`, `table`, `timing` and `sums` make what can be read without a script, `data` and
`details` what the script shows of a single test; `assets/` holds the page's own style and script. Everything goes through
`markup`, where a text can never be markup.
"""
