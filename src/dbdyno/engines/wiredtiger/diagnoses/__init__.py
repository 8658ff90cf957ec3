"""Diagnoses of this engine, one file each (model/diagnosis.py)."""
