"""Diagnoses of the machine, one file each (model/diagnosis.py)."""
