"""The parts of `nanogram.code_matrix`, one concern a file. Private: import `CodeMatrix` from `nanogram.code_matrix`."""
