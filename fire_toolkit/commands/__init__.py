"""The commands as functions: tables and plain values in, a result out; one file for each."""
