"""SPECTRUM: On the Spectrum of Random Features Maps of High Dimensional Data."""
