"""What tests are: each kind has how it is planned, how it is run, and what of its result is stored."""
